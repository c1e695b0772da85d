// The page's sentences as its sources have them, and what on a page is still English.
import { readFileSync } from 'node:fs';

const FILES = { en: 'english', de: 'german', fr: 'french' };
export const OTHER_LANGUAGES = ['de', 'fr'];

/** A catalogue is a literal and nothing else, so it is read without a compiler. */
function catalogue(language) {
  const source = readFileSync(new URL(`../../src/words/${FILES[language]}.ts`, import.meta.url), 'utf8');
  const literal = source.slice(source.indexOf('= {') + 2, source.lastIndexOf('}') + 1);
  return new Function(`return (${literal})`)();
}

/** All forms of a sentence, as patterns of what stands on the page. */
function patterns(sentence) {
  const forms = typeof sentence === 'string' ? [sentence] : Object.values(sentence);
  return forms.map((form) => {
    const parts = form.split(/\{\d\}/).map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'));
    return new RegExp(`^${parts.join('(.+)')}$`, 'su');
  });
}

/** Without its values a sentence has to have words, or it would be found in every number. */
function hasWords(sentence) {
  const forms = typeof sentence === 'string' ? [sentence] : Object.values(sentence);
  return forms.every((form) => form.replaceAll(/\{\d\}/g, '').replaceAll(/[^\p{L}]/gu, '').length >= 4);
}

const ENGLISH = catalogue('en');

/** The texts that are an English sentence of the catalogue, and none in the language that the page is in. */
export function untranslated(texts, language) {
  const own = catalogue(language);
  const differs = (key) => JSON.stringify(ENGLISH[key]) !== JSON.stringify(own[key]);
  const english = Object.keys(ENGLISH).filter((key) => differs(key) && hasWords(ENGLISH[key]));
  const inEnglish = english.flatMap((key) => patterns(ENGLISH[key]));
  const inOwn = Object.values(own).filter(hasWords).flatMap(patterns);
  const is = (all, text) => all.some((pattern) => pattern.test(text));
  return texts.filter((text) => is(inEnglish, text) && !is(inOwn, text));
}

/** Every text of a page: what is seen, what is read aloud, and what stands in attributes; not what is marked as another language's. */
export function textsOf(page) {
  return page.evaluate(() => {
    const texts = [document.title];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const says = (node) => node.parentElement.closest('body [lang]') === null;
    while (walker.nextNode()) if (says(walker.currentNode)) texts.push(walker.currentNode.data);
    for (const name of ['aria-label', 'title', 'placeholder', 'alt']) {
      texts.push(...[...document.querySelectorAll(`[${name}]`)].map((it) => it.getAttribute(name)));
    }
    const plain = texts.map((text) => text.replaceAll(/[\u2068\u2069]/g, '').replaceAll(/\s+/g, ' ').trim());
    return [...new Set(plain)].filter((text) => text !== '');
  });
}
