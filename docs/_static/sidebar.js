// The sidebar shows the page where one is: of the many namespaces, too.
addEventListener("DOMContentLoaded", () => {
  const bar = document.querySelector(".sidebar-scroll"), here = [...document.querySelectorAll(".sidebar-tree .current-page")].pop();
  if (bar && here) bar.scrollTop += here.getBoundingClientRect().top - bar.getBoundingClientRect().top - bar.clientHeight / 2;
});
