// Builds the two files that the C++ side puts into every page: dist/page.js (one IIFE) and dist/page.css.
// Both have fixed names and no references to other files, because the page must work without any network.
import { defineConfig } from 'vite';

export default defineConfig({
  publicDir: false,
  build: {
    target: 'es2020',
    outDir: 'dist',
    emptyOutDir: true,
    sourcemap: false,
    cssCodeSplit: false,
    reportCompressedSize: false,
    modulePreload: false,
    lib: { entry: 'src/main.ts', name: 'lockstepPage', formats: ['iife'], fileName: () => 'page.js' },
    rollupOptions: { output: { assetFileNames: 'page[extname]', inlineDynamicImports: true } }
  }
});
