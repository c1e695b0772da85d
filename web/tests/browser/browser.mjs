// What all of the browser's tests share: Debian's Chromium, the sizes, and what is wrong with any page, whatever it shows.
import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { chromium } from 'playwright-core';
import { textsOf, untranslated } from './words.mjs';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
const PICTURES = 'pictures';

export const SIZES = { phone: { width: 360, height: 740 }, desk: { width: 1280, height: 900 } };
export const SCHEMES = ['light', 'dark'];

export const problems = [];
export const seen = { pages: 0, actions: 0 };

export function check(good, title, text) {
  if (!good) {
    problems.push(`${title}: ${text}`);
    console.log(`  WRONG ${title}: ${text}`);
  }
}

export async function launch() {
  mkdirSync(PICTURES, { recursive: true });
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
  });
}

/** A page whose every request and every word on the console is watched. `expects` says which of those are part of the test. */
export async function open(browser, { size = 'phone', scheme = 'light', language = 'en', address, expects = () => false }) {
  const context = await browser.newContext({
    viewport: SIZES[size],
    colorScheme: scheme,
    locale: language,
    timezoneId: 'Europe/Berlin',
    reducedMotion: 'reduce',
  });
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  const title = () => `${size} ${scheme} ${language} ${page.url().replace(address, '')}`;
  page.on('console', (message) => check(expects(message.text()), title(), `console: ${message.text()}`));
  page.on('pageerror', (error) => check(false, title(), `error: ${error.message}`));
  page.on('request', (request) => check(new URL(request.url()).origin === address, title(), `asks for ${request.url()}`));
  return page;
}

/** Goes to a view of a page that is loaded, and waits until it is there. */
export async function goTo(page, view) {
  await page.evaluate((view) => (location.hash = `#/${view}`), view);
  await page.waitForFunction((view) => document.querySelector('nav [aria-current="page"]')?.getAttribute('href') === `#/${view}` || view.includes('/'), view);
  await page.waitForFunction(() => document.querySelector('main [aria-busy="true"]') === null);
  if (view === 'history') await page.waitForFunction(() => document.querySelector('.chart') === null || document.querySelector('.chart canvas') !== null);
}

export async function judge(page, title) {
  seen.pages += 1;
  const found = await page.evaluate(() => ({
    beyond: document.documentElement.scrollWidth - document.documentElement.clientWidth,
    headings: document.querySelectorAll('h1').length,
    direction: getComputedStyle(document.body).direction === document.documentElement.dir,
    styles: document.querySelectorAll('style').length,
    small: [...document.querySelectorAll('a,button,summary,select,input')]
      .filter((it) => it.getClientRects().length > 0 && !it.classList.contains('skip'))
      .filter((it) => (it.closest('label') ?? it).getBoundingClientRect().height < 40)
      .map((it) => it.textContent || it.id),
    wide: [...document.querySelectorAll('main *')]
      .filter((it) => it.getClientRects().length > 0 && it.getBoundingClientRect().right > innerWidth + 1 && !it.closest('svg,.unseen'))
      .map((it) => it.className || it.tagName),
  }));
  check(found.beyond <= 0, title, `${found.beyond} points too wide`);
  check(found.wide.length === 0, title, `goes over the edge: ${found.wide.join(', ')}`);
  check(found.headings === 1, title, `${found.headings} headings of the first level`);
  check(found.direction, title, 'does not read in the direction of its language');
  check(found.styles === 0, title, 'has a style element');
  check(found.small.length === 0, title, `hard to touch: ${found.small.join(', ')}`);
  await page.evaluate(AXE);
  const { violations } = await page.evaluate((runOnly) => globalThis.axe.run(document, { runOnly }), RULES);
  for (const { id, nodes } of violations) check(false, title, `axe ${id}: ${nodes.map((node) => node.html).join(' ')}`);
}

/** In a language other than English nothing of the page's own may be English. */
export async function judgeWords(page, title, language) {
  const is = await page.evaluate(() => document.documentElement.lang);
  check(is === language, title, `the page is in ${is}`);
  const texts = await textsOf(page);
  check(texts.length > 10, title, `${texts.length} texts`);
  for (const text of untranslated(texts, language)) check(false, title, `not translated: ${text}`);
}

export async function picture(page, title) {
  await page.screenshot({ path: `${PICTURES}/${title.replaceAll(/[ /]/g, '-')}.png`, fullPage: true });
}
