/** Checks a page with axe-core. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { Page } from 'playwright-core';
import { z } from 'zod';
import { root } from '../../../src/build/bundles.ts';

const source = readFileSync(path.join(root, 'node_modules/axe-core/axe.min.js'), 'utf8');
/** What another theme can change. */
const COLOURS = ['color-contrast'];
/** Of a page; a single component has none. */
const PAGE_RULES = ['page-has-heading-one', 'landmark-one-main'];
const violations = z.array(
  z.object({
    id: z.string(),
    help: z.string(),
    nodes: z.array(z.object({ html: z.string(), failureSummary: z.string().optional() })),
  }),
);

/** `page`: all rules; `component`: those that do not need a whole page; `colours`: what another theme can change. */
type Rules = 'page' | 'component' | 'colours';

/** Call it once after a page has loaded, before `inaccessible`. */
export async function loadAxe(page: Page): Promise<void> {
  await page.evaluate(source);
}

/** Returns a line per violated rule. */
export async function inaccessible(page: Page, rules: Rules): Promise<string[]> {
  const off = ['region', ...(rules === 'component' ? PAGE_RULES : [])];
  const options =
    rules === 'colours'
      ? { runOnly: COLOURS }
      : { rules: Object.fromEntries(off.map((rule) => [rule, { enabled: false }])) };
  const found = violations.parse(await page.evaluate(`(${AXE})(${JSON.stringify(options)})`));
  return found.map(
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
