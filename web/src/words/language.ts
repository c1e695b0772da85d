import { ENGLISH } from './english.ts';
import { FRENCH } from './french.ts';
import { GERMAN } from './german.ts';
import type { Texts } from './texts.ts';

/** The languages, each with its own name for itself. */
export const LANGUAGES = {
  en: { name: 'English', direction: 'ltr', texts: ENGLISH },
  de: { name: 'Deutsch', direction: 'ltr', texts: GERMAN },
  fr: { name: 'Français', direction: 'ltr', texts: FRENCH },
} as const satisfies Record<string, { name: string; direction: 'ltr' | 'rtl'; texts: Texts }>;

export type Language = keyof typeof LANGUAGES;

export function isLanguage(tag: string | null): tag is Language {
  return tag !== null && Object.hasOwn(LANGUAGES, tag);
}

/** The first language that somebody wants and that we have. `de-AT` is German. */
export function chooseLanguage(wanted: readonly string[]): Language {
  for (const tag of wanted) {
    const [language = ''] = tag.toLowerCase().split('-');
    if (isLanguage(language)) return language;
  }
  return 'en';
}
