// Before the first paint: the theme that was picked.
try {
  const theme = localStorage.getItem("leveret.theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // No storage: the system's theme.
}
