/** A story in its own VS Code: setup before its first step and cleanup after its last. */
import { mkdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { after, before } from 'node:test';
import { BatchPage, TrajectoryPage } from './rolloutPages.ts';
import { Steps } from './steps.ts';
import { VsCode, type VsCodeOptions } from './vscode.ts';

/** The folder for pictures, when they are requested (`npm run pictures` does). */
const PICTURES = process.env['ROLLOUT_PICTURES'];
const THEMES = { dark: 'Dark Modern', light: 'Light Modern', hc: 'Dark High Contrast' } as const;
const SMALL = { width: 640, height: 600 };

export class Story extends Steps {
  readonly folder: string;
  #code: VsCode | undefined;

  /** Call it within a `describe`. `folder`: the workspace, removed with the story. */
  constructor(name: string, folder: string, options: Omit<VsCodeOptions, 'workspaceFolder'> = {}) {
    super(name);
    this.folder = folder;
    before(async () => {
      this.#code = await VsCode.start({ workspaceFolder: folder, ...options });
    });
    after(async () => {
      await this.#code?.close(this.failed);
      rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 200 });
    });
  }

  get code(): VsCode {
    if (this.#code === undefined) throw new Error('VS Code has not been started yet.');
    return this.#code;
  }

  /** The batch page, once it is in front. */
  get batch(): BatchPage {
    return new BatchPage(this.code.workbench);
  }

  /** The trajectory page, once it is in front. */
  get trajectory(): TrajectoryPage {
    return new TrajectoryPage(this.code.workbench);
  }

  async picture(name: string, part?: { readonly width: number; readonly height: number }): Promise<void> {
    if (PICTURES === undefined) return;
    mkdirSync(PICTURES, { recursive: true });
    await this.code.workbench.picture(path.join(PICTURES, `${name}.png`), part);
  }

  /** Takes pictures in each theme, and of a small window, when they are requested. */
  async pictures(name: string): Promise<void> {
    if (PICTURES === undefined) return;
    const { workbench, page } = this.code;
    for (const [theme, title] of Object.entries(THEMES)) {
      await workbench.command('Preferences: Color Theme');
      await workbench.answer(title);
      await page.locator('.quick-input-widget').waitFor({ state: 'hidden' });
      await this.picture(`${name}-${theme}`);
    }
    await this.#small(name);
  }

  /** Takes a picture, and one of a small window, when they are requested. */
  async sizes(name: string): Promise<void> {
    if (PICTURES === undefined) return;
    await this.picture(name);
    await this.#small(name);
  }

  async #small(name: string): Promise<void> {
    const { page } = this.code;
    const size = page.viewportSize();
    await page.setViewportSize(SMALL);
    await this.picture(`${name}-640`);
    if (size !== null) await page.setViewportSize(size);
  }
}
