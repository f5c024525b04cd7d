/** The two pages of the product as a person uses them: by roles and names, in the front webview. */
import type { FrameLocator, Locator } from 'playwright-core';
import { until } from './poll.ts';
import type { Workbench } from './workbench.ts';

export interface Cell {
  readonly task: string;
  readonly attempt: number;
  /** As the cell shows it: running, passed, failed, … */
  readonly state: string;
}

/** Parses the accessible name of a grid cell. */
export function readCell(name: string): Cell | undefined {
  const [, task, attempt, state] = /^(\S+) attempt (\d+): ([\w ]+)/.exec(name) ?? [];
  return task === undefined || attempt === undefined || state === undefined
    ? undefined
    : { task, attempt: Number(attempt), state: state.trim() };
}

class WebviewPage {
  readonly workbench: Workbench;

  constructor(workbench: Workbench) {
    this.workbench = workbench;
  }

  get frame(): FrameLocator {
    return this.workbench.webview();
  }

  get heading(): Locator {
    return this.frame.getByRole('heading', { level: 1 });
  }

  button(name: string | RegExp): Locator {
    return this.frame.getByRole('button', { name }).first();
  }

  press(key: string): Promise<void> {
    return this.workbench.page.keyboard.press(key);
  }
}

export class BatchPage extends WebviewPage {
  get grid(): Locator {
    return this.frame.getByRole('grid', { name: 'Attempts' });
  }

  get progress(): Locator {
    return this.frame.getByRole('status', { name: 'Progress' });
  }

  cell(task: string, attempt: number): Locator {
    return this.frame.getByRole('gridcell', { name: new RegExp(`^${task} attempt ${attempt}:`) });
  }

  /** Every cell that is in the document now. */
  async cells(): Promise<Cell[]> {
    const names = await this.frame
      .getByRole('gridcell')
      .evaluateAll((cells) => cells.map((cell) => cell.getAttribute('aria-label') ?? cell.textContent));
    return names.flatMap((name) => readCell(name) ?? []);
  }

  async shown(): Promise<void> {
    await this.grid.waitFor({ timeout: 60_000 });
  }

  /** Opens a cell of an attempt that has begun, by keyboard. Row and column are 1-based. */
  async openCell(row: number, attempt: number): Promise<void> {
    await this.grid.focus();
    await this.press('Control+Home');
    for (let moves = 0; moves < row; moves += 1) await this.press('ArrowDown');
    for (let moves = 1; moves < attempt; moves += 1) await this.press('ArrowRight');
    // The grid appears before its attempts, and a pending attempt cannot be opened.
    await this.frame
      .getByRole('gridcell', { selected: true, name: new RegExp(` attempt ${attempt}: (?!queued)`) })
      .first()
      .waitFor({ timeout: 60_000 });
    await this.press('Enter');
  }
}

export class TrajectoryPage extends WebviewPage {
  get steps(): Locator {
    return this.frame.getByRole('tree', { name: 'Steps' });
  }

  get selected(): Locator {
    return this.steps.locator('[aria-selected="true"]');
  }

  region(name: 'Arguments' | 'Result'): Locator {
    return this.frame.getByRole('region', { name });
  }

  tab(name: string): Locator {
    return this.frame.getByRole('tab', { name });
  }

  /** The link to the source line of the called tool. */
  get source(): Locator {
    const name = /^Open \S+\.ts:\d+$/;
    return this.frame.getByRole('link', { name }).or(this.frame.getByRole('button', { name })).first();
  }

  async shown(): Promise<void> {
    await this.steps.waitFor({ timeout: 60_000 });
    await this.selected.waitFor({ timeout: 60_000 });
  }

  /** The 1-based index of the selected row, and the number of rows. */
  async position(): Promise<{ readonly at: number; readonly of: number }> {
    const [at, of] = await this.selected
      .first()
      .evaluate((row) => [row.getAttribute('aria-posinset'), row.getAttribute('aria-setsize')]);
    return { at: Number(at), of: Number(of) };
  }

  /** Presses a key and waits until the expected row is selected. */
  async move(key: string, isThere: (at: number, of: number) => boolean): Promise<number> {
    await this.press(key);
    return this.arrives(isThere, `the row that ${key} leads to`);
  }

  /** Waits until the expected row is selected. */
  arrives(isThere: (at: number, of: number) => boolean, what: string): Promise<number> {
    return until(
      async () => {
        const { at, of } = await this.position();
        return isThere(at, of) ? at : undefined;
      },
      60_000,
      what,
    );
  }
}
