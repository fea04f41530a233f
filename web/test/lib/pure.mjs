// Compiles the pure modules of the page for the unit tests, which run in Node.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL, fileURLToPath } from 'node:url';
import { Duplex } from 'node:stream';
import { createInflateRaw } from 'node:zlib';
import { build } from 'vite';

// Node 18 cannot inflate raw data with the browser's interface; browsers can.
function inflateLikeBrowsers() {
  try {
    return new DecompressionStream('deflate-raw') !== undefined;
  } catch {
    globalThis.DecompressionStream = class {
      constructor() {
        Object.assign(this, Duplex.toWeb(createInflateRaw()));
      }
    };
    return false;
  }
}
inflateLikeBrowsers();

export async function loadPure() {
  const outDir = mkdtempSync(join(tmpdir(), 'lockstep-page-'));
  try {
    await build({
      configFile: false,
      logLevel: 'error',
      publicDir: false,
      build: {
        outDir,
        emptyOutDir: true,
        minify: false,
        target: 'es2020',
        lib: {
          entry: fileURLToPath(new URL('./pure.ts', import.meta.url)),
          formats: ['es'],
          fileName: () => 'pure.mjs'
        }
      }
    });
    return await import(pathToFileURL(join(outDir, 'pure.mjs')).href);
  } finally {
    rmSync(outDir, { recursive: true, force: true });
  }
}
