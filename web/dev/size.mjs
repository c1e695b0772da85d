// Compresses each built file beside itself, prints the sum, and fails above the page's limit.
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

const BYTES_MAX = 150_000;
const folder = process.argv[2] ?? 'dist';
const files = readdirSync(folder, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && !entry.name.endsWith('.gz'))
  .map((entry) => join(entry.parentPath, entry.name))
  .sort();
let [sum, raw] = [0, 0];
for (const file of files) {
  const content = readFileSync(file);
  const compressed = gzipSync(content, { level: 9 });
  writeFileSync(`${file}.gz`, compressed);
  sum += compressed.length;
  raw += content.length;
  console.log(`${String(compressed.length).padStart(7)} bytes of ${String(content.length).padStart(7)}  ${file}`);
}
console.log(`${String(sum).padStart(7)} bytes of ${String(raw).padStart(7)}  in all; at most ${BYTES_MAX}`);
if (files.length === 0 || sum > BYTES_MAX) {
  console.error(files.length === 0 ? `nothing was built in ${folder}` : `the page is ${sum - BYTES_MAX} bytes too large`);
  process.exit(1);
}
