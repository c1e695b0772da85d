// The page in Debian's Chromium, against the development server: `npm run build` first. `ONLY="serving now phone"` looks at those
// pages alone, by the beginning of their title, and `ONLY=keyboard` does the actions alone. Pictures go to `pictures/`.
import { launch, problems, seen, SIZES } from './browser.mjs';
import { connection } from './connection.mjs';
import { keyboard } from './keyboard.mjs';
import { views } from './views.mjs';

const only = process.env.ONLY ?? '';
const wanted = (title) => title.startsWith(only);
const browser = await launch();
try {
  await views(browser, wanted);
  await connection(browser, wanted);
  for (const size of Object.keys(SIZES)) if (wanted(`keyboard ${size}`)) await keyboard(browser, size);
} finally {
  await browser.close();
}
console.log(`${seen.pages} pages, ${seen.actions} actions by keyboard, ${problems.length} problems`);
process.exit(problems.length === 0 && seen.pages + seen.actions > 0 ? 0 : 1);
