// Every view in every state, on a phone and at a desk, light and dark; and each language on the smallest phone that is in use.
import { DevelopmentHome, STATES } from '../../dev/server.mjs';
import { goTo, judge, judgeWords, open, picture, SCHEMES, SIZES } from './browser.mjs';
import { OTHER_LANGUAGES } from './words.mjs';

const VIEWS = ['now', 'owed', 'members', 'history', 'allowance', 'refusals', 'health', 'settings', 'more'];
const TEAM = '83c0a0bcc117b486796f090297e4ae235f038b701d1101b0';

export async function views(browser, wanted) {
  for (const state of STATES) {
    const home = new DevelopmentHome(state);
    const address = await home.listen();
    for (const size of Object.keys(SIZES)) {
      for (const scheme of SCHEMES) await walk(browser, { address, state, size, scheme, language: 'en' }, wanted);
    }
    if (state === 'serving' || state === 'trouble') {
      for (const language of OTHER_LANGUAGES) await walk(browser, { address, state, size: 'phone', scheme: 'light', language }, wanted);
    }
    await home.close();
  }
}

async function walk(browser, { address, state, size, scheme, language }, wanted) {
  const titles = [...VIEWS, ...(state === 'serving' ? [`owed/${TEAM}`] : [])]
    .filter((view) => view !== 'more' || size === 'phone')
    .map((view) => ({ view, title: `${state} ${view.replace(`/${TEAM}`, '-why')} ${size} ${scheme} ${language}` }))
    .filter(({ title }) => wanted(title));
  if (titles.length === 0) return;
  const page = await open(browser, { size, scheme, language, address });
  await page.goto(address);
  await page.waitForSelector('main h1');
  await page.waitForFunction(() => document.querySelector('main > section, main > p.card') !== null);
  for (const { view, title } of titles) {
    await goTo(page, view);
    if (view.includes('/')) await page.waitForSelector('.flow svg');
    await page.evaluate(() => document.querySelectorAll('main details').forEach((it) => (it.open = true)));
    await judge(page, title);
    if (language !== 'en') await judgeWords(page, title, language);
    await page.evaluate(() => document.querySelectorAll('main details').forEach((it, index) => (it.open = index === 0)));
    await picture(page, title);
  }
  await page.context().close();
}
