/** Checks a page with axe-core. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { Page } from 'playwright-core';
import { z } from 'zod';
import { root } from '../../../src/build/bundles.ts';
import { installContrast } from './contrast.ts';

const source = readFileSync(path.join(root, 'node_modules/axe-core/axe.min.js'), 'utf8');
/** The only rule about colors. */
const COLOURS = 'color-contrast';
/** Of a page; a single component has none. */
const PAGE_RULES = ['page-has-heading-one', 'landmark-one-main'];
const violations = z.array(
  z.object({
    id: z.string(),
    help: z.string(),
    nodes: z.array(z.object({ html: z.string(), failureSummary: z.string().optional() })),
  }),
);

/** Call it once after a page has loaded, before the others. */
export async function loadAxe(page: Page): Promise<void> {
  await page.evaluate(source);
  await page.evaluate(installContrast);
}

/** Returns a line per violated rule that does not depend on colors. `component`: a single one, not a whole page. */
export async function inaccessible(page: Page, kind: 'page' | 'component'): Promise<string[]> {
  const off = ['region', COLOURS, ...(kind === 'component' ? PAGE_RULES : [])];
  const rules = Object.fromEntries(off.map((rule) => [rule, { enabled: false }]));
  return lines(await page.evaluate(`(${AXE})(${JSON.stringify({ rules })})`));
}

/**
 * Returns a line if text has too little contrast. Text with the same colors, font, and backgrounds as text that passed
 * before in this page is not checked again: that takes most of axe's time, and stories have most of it in common.
 * `moved`: whether elements may be elsewhere than at the last call, which decides what is behind text.
 */
export async function lowContrast(page: Page, moved: boolean): Promise<string[]> {
  return lines(await page.evaluate(`globalThis.contrast.check(${JSON.stringify(moved)})`));
}

function lines(found: unknown): string[] {
  return violations.parse(found).map(
    ({ id, help, nodes }) =>
      `axe ${id}: ${help}: ${nodes
        .slice(0, 3)
        .map((node) => node.html.slice(0, 160))
        .join(' | ')} ${nodes[0]?.failureSummary?.slice(0, 300) ?? ''}`,
  );
}

const AXE = `(async (options) => {
  const result = await window.axe.run(document, { resultTypes: ['violations'], selectors: false, ...options });
  return result.violations.map(({ id, help, nodes }) => ({ id, help, nodes: nodes.map(({ html, failureSummary }) => \
({ html, failureSummary })) }));
})`;
