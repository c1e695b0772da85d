// What the page shows when the home is away, when the session ends, and how a link is used.
import { DevelopmentHome } from '../../dev/server.mjs';
import { check, judge, open, picture, SCHEMES, SIZES } from './browser.mjs';

const refusedByServer = (text) => /Failed to load resource/.test(text);
const gone = (text) => /ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED|ERR_EMPTY_RESPONSE|ERR_CONNECTION_RESET/.test(text);

export async function connection(browser, wanted) {
  for (const size of Object.keys(SIZES)) {
    for (const scheme of SCHEMES) {
      if (wanted(`lost now ${size} ${scheme} en`)) await lost(browser, size, scheme);
      if (wanted(`ended now ${size} ${scheme} en`)) await ended(browser, size, scheme);
      if (wanted(`used now ${size} ${scheme} en`)) await used(browser, size, scheme);
    }
  }
  if (wanted('unseen now phone light en')) await unseen(browser);
}

const heading = (page, text) => page.waitForFunction((text) => document.querySelector('h1')?.textContent === text, text);

async function lost(browser, size, scheme) {
  const home = new DevelopmentHome('serving');
  const address = await home.listen();
  const page = await open(browser, { size, scheme, address, expects: gone });
  await page.goto(address);
  await heading(page, 'Your Wi-Fi is shared, and 6 guests are served');
  await home.close();
  await heading(page, 'The connection to the program is lost');
  check((await page.$$('.guest')).length === 6, 'lost', 'what was known before is not shown');
  check((await page.$$('.guest .danger')).length === 0, 'lost', 'offers to change something');
  await judge(page, `lost ${size} ${scheme}`);
  await picture(page, `lost now ${size} ${scheme} en`);
  const again = new DevelopmentHome('nobody');
  await again.listen(Number(new URL(address).port));
  await heading(page, 'Your Wi-Fi is shared; nobody is here');
  await page.context().close();
  await again.close();
}

async function ended(browser, size, scheme) {
  const home = new DevelopmentHome('serving');
  const address = await home.listen();
  const page = await open(browser, { size, scheme, address, expects: (text) => refusedByServer(text) || gone(text) });
  await page.goto(address);
  await heading(page, 'Your Wi-Fi is shared, and 6 guests are served');
  home.hasSession = false;
  home.cut();
  await heading(page, 'Your session has ended');
  const text = await page.textContent('main');
  check(text.includes('guestright home web --enable'), 'ended', 'does not say what to do');
  check(!(await page.content()).includes('Harbour'), 'ended', 'still shows who was there');
  await judge(page, `ended ${size} ${scheme}`);
  await picture(page, `ended now ${size} ${scheme} en`);
  await page.context().close();
  await home.close();
}

async function used(browser, size, scheme) {
  const home = new DevelopmentHome('serving');
  const address = await home.listen();
  home.hasSession = false;
  const first = await open(browser, { size, scheme, address });
  await first.goto(`${address}/#${home.link}`);
  await heading(first, 'Your Wi-Fi is shared, and 6 guests are served');
  check(!first.url().includes('ffff'), 'link', 'the code stays in the address');
  const second = await open(browser, { size, scheme, address, expects: refusedByServer });
  await second.goto(`${address}/#${'f'.repeat(32)}`);
  await heading(second, 'This link does not work any more');
  await judge(second, `used ${size} ${scheme}`);
  await picture(second, `used now ${size} ${scheme} en`);
  await first.context().close();
  await second.context().close();
  await home.close();
}

/** Nothing is asked while nobody looks. */
async function unseen(browser) {
  const home = new DevelopmentHome('serving');
  const address = await home.listen();
  const page = await open(browser, { address });
  await page.goto(address);
  await heading(page, 'Your Wi-Fi is shared, and 6 guests are served');
  const hide = (hidden) =>
    page.evaluate((hidden) => {
      Object.defineProperty(document, 'hidden', { configurable: true, value: hidden });
      document.dispatchEvent(new Event('visibilitychange'));
    }, hidden);
  await home.watched(1);
  await hide(true);
  await home.watched(0);
  home.show('nobody');
  await hide(false);
  await heading(page, 'Your Wi-Fi is shared; nobody is here');
  home.show('serving');
  await home.watched(1);
  home.publish();
  await heading(page, 'Your Wi-Fi is shared, and 6 guests are served');
  await page.context().close();
  await home.close();
}
