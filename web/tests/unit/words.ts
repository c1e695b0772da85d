import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { ENGLISH } from '../../src/words/english.ts';
import { chooseLanguage, LANGUAGES, type Language } from '../../src/words/language.ts';
import { isolated, Speaker } from '../../src/words/speaker.ts';
import type { Counted, Texts } from '../../src/words/texts.ts';

const KEYS = Object.keys(ENGLISH) as (keyof Texts)[];
const TAGS = Object.keys(LANGUAGES) as Language[];

function forms(text: string | Counted): Record<string, string> {
  return typeof text === 'string' ? { text } : text;
}

function parameters(text: string): string[] {
  return [...new Set(text.match(/\{\d\}/g) ?? [])].sort();
}

test('every language has every sentence, and no other', () => {
  for (const tag of TAGS) assert.deepEqual(Object.keys(LANGUAGES[tag].texts).sort(), [...KEYS].sort(), tag);
});

test('a sentence has the same parameters in every language', () => {
  for (const tag of TAGS) {
    for (const key of KEYS) {
      const wanted = parameters(forms(ENGLISH[key])['other'] ?? forms(ENGLISH[key])['text'] ?? '');
      for (const [form, text] of Object.entries(forms(LANGUAGES[tag].texts[key]))) {
        // Only a form for exactly one thing may say "one" instead of the number.
        const exactlyOne = form === 'one' && new Intl.PluralRules(tag).select(0) !== 'one' && new Intl.PluralRules(tag).select(21) !== 'one';
        const free = exactlyOne ? wanted.filter((parameter) => parameter !== '{1}') : wanted;
        const got = parameters(text);
        assert.ok(got.join() === wanted.join() || got.join() === free.join(), `${tag} ${key} ${form}: ${got.join()}, not ${wanted.join()}`);
        assert.ok(text.trim() === text && text !== '', `${tag} ${key} ${form} is empty or has space around it`);
      }
    }
  }
});

test('a counted sentence has a form for each category that whole numbers have', () => {
  for (const tag of TAGS) {
    const rules = new Intl.PluralRules(tag);
    const categories = new Set(Array.from({ length: 200 }, (_, number) => rules.select(number)));
    for (const key of KEYS) {
      const text: string | Counted = LANGUAGES[tag].texts[key];
      if (typeof text === 'string') continue;
      for (const category of categories) assert.ok(text[category], `${tag} ${key} has no form "${category}"`);
    }
  }
});

test('every sentence is used', () => {
  const files = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter((name) => /\.(svelte|ts)$/.test(name) && !name.startsWith('words/'));
  const source = files.map((name) => readFileSync(`src/${name}`, 'utf8')).join('\n');
  for (const key of KEYS) assert.ok(source.includes(`'${key}'`), `nothing says ${key}`);
});

test('a number of guests has the right form', () => {
  const heading = (tag: Language, number: number) => new Speaker(tag).count('serving_heading', number);
  assert.equal(heading('en', 1), 'Your Wi-Fi is shared, and one guest is served');
  assert.equal(heading('en', 2), 'Your Wi-Fi is shared, and 2 guests are served');
  assert.equal(heading('de', 1), 'Ihr WLAN ist geteilt, und ein Gast ist im Netz');
  assert.equal(heading('fr', 0), 'Votre Wi-Fi est partagé et 0 invité est servi');
  assert.equal(heading('fr', 1_000_000).includes('invités'), true);
});

test('sums of bytes have three digits and the unit of the language', () => {
  const rows: [Language, number, string][] = [
    ['en', 0, '0 kB'],
    ['en', 400, '0.4 kB'],
    ['en', 1_000, '1 kB'],
    ['en', 999_499, '999 kB'],
    ['en', 999_999, '1 MB'],
    ['en', 1_840_000_000, '1.84 GB'],
    ['de', 1_840_000_000, '1,84 GB'],
    ['fr', 1_840_000_000, '1,84 Go'],
    ['fr', 640_000_000, '640 Mo'],
    ['en', 12e15, '12,000 TB'],
  ];
  for (const [tag, bytes, want] of rows) assert.equal(new Speaker(tag).bytes(bytes).replace(/[\u00a0\u202f]/g, ' '), want, `${tag} ${bytes}`);
});

test('rates are in bits a second', () => {
  const rows: [number, string][] = [[0, '0 kbit/s'], [96_000, '96 kbit/s'], [999_999, '1 Mbit/s'], [6_400_000, '6.4 Mbit/s'], [2_500_000_000, '2.5 Gbit/s']];
  for (const [rate, want] of rows) assert.equal(new Speaker('en').rate(rate).replace('\u00a0', ' '), want);
});

test('a time is written as shortly as it can be without doubt', () => {
  const speaker = new Speaker('en');
  const now = new Date(2026, 10, 27, 18, 40).getTime() / 1000;
  assert.equal(speaker.moment(now - 3600, now), '17:40');
  assert.equal(speaker.moment(now - 86_400, now), 'Thu 26 Nov, 18:40');
  assert.equal(speaker.moment(now + 40 * 86_400, now), '6 January 2027');
  assert.equal(speaker.duration(119), '1 minute');
  assert.equal(speaker.duration(7_199), '119 minutes');
  assert.equal(speaker.duration(7_200), '2 hours');
  assert.equal(speaker.duration(-5), '0 seconds');
});

test('the first language that we have is chosen', () => {
  assert.equal(chooseLanguage(['pt-BR', 'de-AT', 'fr']), 'de');
  assert.equal(chooseLanguage(['constructor', 'ja']), 'en');
});

test('a name that is written from right to left stays by itself', () => {
  assert.equal(new Speaker('en').say('block_done', isolated('דוד')), '\u2068דוד\u2069 is blocked.');
});
