// Typeset what the Markdown extension arithmatex marked, with the KaTeX that is shipped beside this file.
document$.subscribe(() => {
  for (const element of document.querySelectorAll(".arithmatex")) {
    if (element.querySelector(".katex")) continue;
    const source = element.textContent.trim().slice(2, -2);
    katex.render(source, element, { displayMode: element.tagName === "DIV", throwOnError: false });
  }
});
