/** Builds and serves the page of stories. */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { build } from 'esbuild';
import { pageBuild } from '../../../src/build/bundles.ts';
import { contentSecurityPolicy, pageHtml } from '../../../src/common/pageHtml.ts';
import { type Served, serveFolders } from './browser.ts';

/** `out`: a separate folder for each test file, because they run in parallel. */
export async function serveStories(out: string): Promise<Served> {
  mkdirSync(out, { recursive: true });
  await build({
    ...pageBuild('0.0.0'),
    entryPoints: [{ in: 'webview/stories/main.tsx', out: 'page' }],
    outdir: out,
    minify: false,
  });
  const sources = {
    script: ["'self'"],
    style: ["'self'"],
    font: ["'self'"],
    img: ["'self'", 'data:', 'blob:'],
    connect: ["'self'"],
    worker: ['blob:'],
  };
  writeFileSync(
    path.join(out, 'index.html'),
    pageHtml({
      title: 'Stories',
      sources,
      script: { url: 'page.js' },
      style: { url: 'page.css' },
      bodyAttributes: { 'data-host': 'story' },
    }),
  );
  return serveFolders([out], { 'content-security-policy': contentSecurityPolicy(sources) });
}
