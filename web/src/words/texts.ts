import type { ENGLISH } from './english.ts';

/** Forms of a sentence by the category of its number. `other` is always there. */
export type Counted = Partial<Record<Intl.LDMLPluralRule, string>> & { other: string };

/** Every language has the sentences of English. */
export type Texts = { readonly [K in keyof typeof ENGLISH]: (typeof ENGLISH)[K] extends string ? string : Counted };

type Keys<Kind> = { [K in keyof Texts]: Texts[K] extends Kind ? K : never }[keyof Texts];
export type PlainKey = Keys<string>;
export type CountedKey = Exclude<keyof Texts, PlainKey>;

/** As many values as the English sentence has parameters. */
export type Values<Text extends string> = Text extends `${string}{4}${string}`
  ? [string, string, string, string]
  : Text extends `${string}{3}${string}`
    ? [string, string, string]
    : Text extends `${string}{2}${string}`
      ? [string, string]
      : Text extends `${string}{1}${string}`
        ? [string]
        : [];

type Rest<All extends string[]> = All extends [string, ...infer Others extends string[]] ? Others : [];

export type ValuesOf<K extends PlainKey> = Values<(typeof ENGLISH)[K]>;
/** Those after the number itself. */
export type OthersOf<K extends CountedKey> = Rest<Values<(typeof ENGLISH)[K]['other']>>;
