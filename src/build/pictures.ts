/**
 * `npm run pictures`: takes the README's pictures from the running product: both pages in the four themes and a walk
 * through a trajectory; and the debugger, the calls of a tool, a tool trial, a cluster, and the whole journey in VS
 * Code (this needs `npm run package` first, the cluster a Kubernetes cluster, and the journey vLLM too).
 */
import { spawn, spawnSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { type Browser, chromium, type Page } from 'playwright-core';
import { z } from 'zod';
import { root } from './bundles.ts';
import { animatedPng } from './pictures/animation.ts';
import { startCluster } from './system/cluster.ts';
import { missingKit } from './system/kits.ts';
import { findProgram, installPrograms } from './system/programs.ts';

/** The system's preferences, as a browser reports them to its pages. */
const THEMES = {
  dark: { colorScheme: 'dark', contrast: 'no-preference' },
  light: { colorScheme: 'light', contrast: 'no-preference' },
  hc: { colorScheme: 'dark', contrast: 'more' },
  'hc-light': { colorScheme: 'light', contrast: 'more' },
} as const;
const VIEWPORT = { width: 1280, height: 800 };
/** The walk through a trajectory: its keys, and how long each of its pictures is shown. */
const WALK_VIEWPORT = { width: 1000, height: 640 };
const WALK_KEYS = ['Home', 'j', 'j', 'j', 'j', 'j', 'j', 'e', 'j', 'End'] as const;
const WALK_MS = 1200;

const folder = mkdtempSync(path.join(os.tmpdir(), 'rollout-pictures-'));
const workspace = path.join(folder, 'workspace');
const cli = (args: readonly string[]): string => {
  const done = spawnSync(
    process.execPath,
    [
      '--disable-warning=ExperimentalWarning',
      path.join(root, 'dist/cli.mjs'),
      ...args,
      '--store',
      path.join(folder, 'store'),
    ],
    {
      cwd: args[0] === 'init' ? folder : workspace,
      encoding: 'utf8',
    },
  );
  if (done.status !== 0) throw new Error(done.stderr);
  return done.stdout;
};

try {
  cli(['init', workspace]);
  cli(['run', 'batches/desk.batch.yaml']);
  await pages();
  // Only the pages: the windows of VS Code take minutes.
  if (process.argv[2] !== 'pages') windows();
} finally {
  rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 200 });
}

/** Takes pictures during the tests in VS Code. `pictures`: the test's names → the README's names. */
function windows(): void {
  take('test/e2e/debug.test.ts', { 'debug-held': 'debug' });
  take('test/e2e/toolCalls.test.ts', { 'tools-peek': 'tools' });
  take('test/e2e/authoring.test.ts', { 'authoring-try-world': 'try' });
  const cluster = startCluster();
  if (typeof cluster === 'string') {
    console.log(`Without the pictures of a cluster: ${cluster}`);
    return;
  }
  try {
    take(
      'test/cluster/vscode/vscode.test.ts',
      { 'cluster-launch': 'cluster', 'cluster-trajectory': 'lost-pod' },
      { KUBECONFIG: cluster.kubeconfig },
    );
    const vllm = missingKit('vllm');
    if (vllm !== undefined) {
      console.log(`Without the pictures of the journey: ${vllm}`);
      return;
    }
    const stages = ['changes', 'install', 'grid', 'stream', 'lost', 'call', 'ended'].map((stage) => `journey-${stage}`);
    take('test/journey/journey.test.ts', Object.fromEntries(stages.map((name) => [name, name])), {
      KUBECONFIG: cluster.kubeconfig,
    });
  } finally {
    cluster.stop();
  }
}

function take(test: string, pictures: Readonly<Record<string, string>>, env: NodeJS.ProcessEnv = {}): void {
  const done = spawnSync(process.execPath, ['--disable-warning=ExperimentalWarning', '--test', path.join(root, test)], {
    cwd: root,
    stdio: 'inherit',
    env: {
      ...process.env,
      ...env,
      ROLLOUT_VSIX: path.join(root, 'dist/rollout-studio.vsix'),
      ROLLOUT_PICTURES: folder,
    },
  });
  if (done.status !== 0)
    throw new Error(`${test} failed: it takes the pictures ${Object.values(pictures).join(', ')}.`);
  for (const [testName, name] of Object.entries(pictures))
    copyFileSync(path.join(folder, `${testName}.png`), path.join(root, 'media', 'pictures', `${name}.png`));
}

/** The batch, and an attempt of it that failed. */
async function pages(): Promise<void> {
  const missing = installPrograms(['chromium']);
  if (missing !== undefined) throw new Error(missing);
  const executablePath = findProgram('chromium');
  const browser = await chromium.launch({
    ...(executablePath === undefined ? {} : { executablePath }),
    args: ['--no-sandbox', '--disable-gpu'],
  });
  try {
    await viewing('last', (url) => inThemes(browser, 'batch', url, () => Promise.resolve()));
    await viewing(failedAttempt(), async (url) => {
      await inThemes(browser, 'trajectory', url, async (page) => {
        await page.getByRole('tree', { name: 'Steps' }).waitFor();
        // It opens at the check that failed. The picture shows the first call that failed.
        await page.keyboard.press('Home');
        await page.keyboard.press('e');
        await page.locator('.detail').getByRole('heading', { name: 'Error' }).waitFor();
      });
      await walk(browser, url);
    });
  } finally {
    await browser.close();
  }
}

/** Returns the reference of a failed attempt: the one that called the most tools, because it shows the most. */
function failedAttempt(): string {
  const { rollouts } = z
    .object({
      rollouts: z.array(
        z.object({
          rollout: z.string(),
          progress: z.object({ passed: z.boolean().nullable().optional(), tool_calls: z.number() }),
        }),
      ),
    })
    .parse(JSON.parse(cli(['show', 'last', '--json'])));
  const [mostTools] = rollouts
    .filter(({ progress }) => progress.passed === false)
    .sort((a, b) => b.progress.tool_calls - a.progress.tool_calls);
  return mostTools?.rollout ?? 'last/renew-one/1';
}

/** Serves the page of a reference while `use` runs. */
async function viewing(reference: string, use: (url: string) => Promise<void>): Promise<void> {
  const viewer = spawn(
    process.execPath,
    [
      '--disable-warning=ExperimentalWarning',
      path.join(root, 'dist/cli.mjs'),
      'view',
      reference,
      '--store',
      path.join(folder, 'store'),
    ],
    { cwd: workspace, stdio: ['ignore', 'pipe', 'inherit'] },
  );
  try {
    const url = await new Promise<string>((resolve, reject) => {
      createInterface({ input: viewer.stdout }).once('line', resolve);
      viewer.once('exit', () => reject(new Error(`rollout view ${reference} ended`)));
    });
    await use(url);
  } finally {
    viewer.kill('SIGINT');
  }
}

async function inThemes(
  browser: Browser,
  name: string,
  url: string,
  prepare: (page: Page) => Promise<unknown>,
): Promise<void> {
  for (const [theme, preferences] of Object.entries(THEMES)) {
    const page = await browser.newPage({ viewport: VIEWPORT, deviceScaleFactor: 1, ...preferences });
    await page.goto(url);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await prepare(page);
    await page.waitForLoadState('networkidle');
    await page.screenshot({ path: path.join(root, 'media', 'pictures', `${name}-${theme}.png`) });
    await page.close();
  }
}

/** Moves down the steps of a trajectory to its first error, as an animation. */
async function walk(browser: Browser, url: string): Promise<void> {
  const page = await browser.newPage({ viewport: WALK_VIEWPORT, deviceScaleFactor: 1, ...THEMES.dark });
  await page.goto(url);
  await page.getByRole('tree', { name: 'Steps' }).waitFor();
  const frames: Buffer[] = [];
  for (const key of WALK_KEYS) {
    await page.keyboard.press(key);
    await page.waitForLoadState('networkidle');
    frames.push(await page.screenshot());
  }
  writeFileSync(path.join(root, 'media', 'pictures', 'walk.png'), animatedPng(frames, WALK_MS));
  await page.close();
}
