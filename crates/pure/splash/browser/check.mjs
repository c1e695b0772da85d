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
    const context = await browser.newContext({ viewport, colorScheme, javaScriptEnabled: false, deviceScaleFactor: 1 });
    for (const [name, url] of sites) {
      for (const language of languages) await judge(context, `${name}-${language}-${size}-${colorScheme}`, url, language);
    }
    await context.close();
  }
}
await press();
await browser.close();
console.log(`${pages} pages, ${problems.length} problems`);
for (const problem of problems) console.log(problem);
process.exit(problems.length === 0 && pages > 0 ? 0 : 1);

async function judge(context, name, url, language) {
  const page = await context.newPage();
  page.on('console', (message) => problems.push(`${name}: ${message.text()}`));
  page.on('request', (request) => {
    if (request.url() !== `${url}/${language}`) problems.push(`${name}: asks for ${request.url()}`);
  });
  const response = await page.goto(`${url}/${language}`);
  if (response.status() !== 200) problems.push(`${name}: status ${response.status()}`);
  // Scripts of pages are off; these are the debugger's.
  const width = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  if (width > 0) problems.push(`${name}: ${width} points too wide`);
  const direction = await page.evaluate(() => getComputedStyle(document.body).direction);
  if (direction !== (language === 'ar' ? 'rtl' : 'ltr')) problems.push(`${name}: reads ${direction}`);
  const small = await page.evaluate(() =>
    [...document.querySelectorAll('a,button,summary')]
      .filter((it) => it.getBoundingClientRect().height < 40)
      .map((it) => it.textContent),
  );
  if (small.length > 0) problems.push(`${name}: hard to touch: ${small}`);
  const open = await page.$('summary');
  if (open) await open.click();
  for (const { id, nodes } of await violations(page)) {
    problems.push(`${name}: axe ${id}: ${nodes.map((node) => node.html).join(' ')}`);
  }
  if (pictures) await page.screenshot({ path: `${pictures}/${name}.png`, fullPage: true });
  pages += 1;
  await page.close();
}

// A page whose scripts are off cannot run axe; it runs in a twin of the page that allows them.
async function violations(page) {
  const session = await page.context().newCDPSession(page);
  await session.send('Emulation.setScriptExecutionDisabled', { value: false });
  await session.send('Page.setBypassCSP', { enabled: true });
  const run = `${axe}; axe.run(document, { runOnly: ${JSON.stringify(rules)} })`;
  const answer = await session.send('Runtime.evaluate', { expression: run, awaitPromise: true, returnByValue: true });
  await session.send('Emulation.setScriptExecutionDisabled', { value: true });
  await session.detach();
  if (answer.exceptionDetails) throw new Error(JSON.stringify(answer.exceptionDetails));
  return answer.result.value.violations;
}

// By keyboard alone: to the button, which has a visible focus, and on to the state that follows.
async function press() {
  const url = sites.get('stranger-trial');
  const context = await browser.newContext({ viewport: sizes.phone, javaScriptEnabled: false });
  const page = await context.newPage();
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
