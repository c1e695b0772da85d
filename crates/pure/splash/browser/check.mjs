// Goes through the pages given as NAME=URL in Chromium: each in three languages, on a phone of 320 points and on a desk, light
// and dark, with scripts off. Judges each by axe-core's rules for WCAG 2.2 AA, by its width, and by what the browser complains
// of. Then presses the button and uses the keyboard as a person would. Pictures go to the folder PICTURES, if it is set.
//
// `CHROMIUM` is the browser, /usr/bin/chromium if it is not set. None is downloaded.
import { readFileSync, mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { chromium } from 'playwright-core';

const require = createRequire(import.meta.url);
const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
const sites = new Map(process.argv.slice(2).map((argument) => argument.split(/=(.*)/s).slice(0, 2)));
const pictures = process.env.PICTURES;
const languages = ['en', 'de', 'ar'];
const sizes = { phone: { width: 320, height: 640 }, desk: { width: 1280, height: 900 } };
const schemes = ['light', 'dark'];
const rules = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
const problems = [];
let pages = 0;

if (pictures) mkdirSync(pictures, { recursive: true });
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-background-networking', '--disable-component-update'],
});
for (const [size, viewport] of Object.entries(sizes)) {
  for (const colorScheme of schemes) {
    const look = { viewport, colorScheme, deviceScaleFactor: 1 };
    const plain = await browser.newContext({ ...look, javaScriptEnabled: false });
    // The twin is for the judges, which are scripts.
    const twin = await browser.newContext({ ...look, bypassCSP: true });
    const [shown, judged] = [await plain.newPage(), await twin.newPage()];
    let now = {};
    shown.on('console', (message) => problems.push(`${now.title}: ${message.text()}`));
    shown.on('request', (request) => {
      if (![now.address, 'data:,'].includes(request.url())) problems.push(`${now.title}: asks for ${request.url()}`);
    });
    for (const [name, url] of sites) {
      for (const language of languages) {
        now = { title: `${name}-${language}-${size}-${colorScheme}`, address: `${url}/${language}` };
        await show(shown, now);
        await judge(judged, now, language);
        pages += 1;
      }
    }
    await plain.close();
    await twin.close();
  }
}
await press();
await browser.close();
console.log(`${pages} pages, ${problems.length} problems`);
for (const problem of problems) console.log(problem);
process.exit(problems.length === 0 && pages > 0 ? 0 : 1);

// Scripts are off: it asks for itself and nothing else, and the browser complains of nothing.
async function show(page, { title, address }) {
  const response = await page.goto(address);
  if (response.status() !== 200) problems.push(`${title}: status ${response.status()}`);
  if (pictures) await page.screenshot({ path: `${pictures}/${title}.png`, fullPage: true });
}

async function judge(page, { title: name, address }, language) {
  await page.goto(address);
  const open = await page.$('summary');
  if (open) await open.click();
  const found = await page.evaluate(() => ({
    beyond: document.documentElement.scrollWidth - document.documentElement.clientWidth,
    direction: getComputedStyle(document.body).direction,
    small: [...document.querySelectorAll('a,button,summary')]
      .filter((it) => it.getBoundingClientRect().height < 40)
      .map((it) => it.textContent),
  }));
  if (found.beyond > 0) problems.push(`${name}: ${found.beyond} points too wide`);
  if (found.direction !== (language === 'ar' ? 'rtl' : 'ltr')) problems.push(`${name}: reads ${found.direction}`);
  if (found.small.length > 0) problems.push(`${name}: hard to touch: ${found.small}`);
  await page.evaluate(axe);
  const { violations } = await page.evaluate((tags) => globalThis.axe.run(document, { runOnly: tags }), rules);
  for (const { id, nodes } of violations) {
    problems.push(`${name}: axe ${id}: ${nodes.map((node) => node.html).join(' ')}`);
  }
}

// By keyboard alone: to the button, which has a visible focus, and on to the state that follows.
async function press() {
  const url = sites.get('stranger-trial');
  const context = await browser.newContext({ viewport: sizes.phone, javaScriptEnabled: false });
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  await page.goto(`${url}/de`);
  await page.keyboard.press('Tab');
  const focus = await page.evaluate(() => {
    const style = getComputedStyle(document.activeElement);
    return [document.activeElement.tagName, style.outlineStyle, style.outlineWidth].join(' ');
  });
  if (focus !== 'BUTTON solid 3px') problems.push(`the first stop of the keyboard is: ${focus}`);
  await Promise.all([page.waitForNavigation(), page.keyboard.press('Enter')]);
  const heading = await page.textContent('h2');
  if (page.url() !== `${url}/de` || !heading.includes('Sie sind online')) {
    problems.push(`after the button: ${page.url()} ${heading}`);
  }
  const cookies = await context.cookies();
  if (cookies.length > 0) problems.push(`cookies: ${JSON.stringify(cookies)}`);
  pages += 1;
  await context.close();
}
