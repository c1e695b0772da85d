/** Styles are in one file of their own: the page's policy forbids what a script would insert. */
export default { compilerOptions: { runes: true, css: 'external' } };
