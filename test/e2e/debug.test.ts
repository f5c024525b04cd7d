/** The debugger in VS Code: a live attempt held, edited and let go; its record stepped back through; both heads of the cursor at one place. */
import { describe } from 'node:test';
import type { Locator } from 'playwright-core';
import { sampleFolder } from './support/sample.ts';
import { Story } from './support/story.ts';

const TOOL = 'renew_loan';

describe('debugging a trajectory in VS Code', { timeout: 400_000 }, () => {
  const story = new Story('debug', sampleFolder('latency_ms=50&slots=16'));
  const frame = (name: string | RegExp): Locator => story.code.page.locator('.debug-call-stack .stack-frame').filter({ hasText: name }).first();
  const variable = (name: RegExp): Locator => story.code.page.locator('.debug-variables .monaco-list-row').filter({ hasText: name }).first();
  const ended = (): Locator => story.code.page.getByText('The end of the trajectory').first();
  const goOn = (): Promise<void> => story.code.page.locator('.debug-toolbar .codicon-debug-continue').click();
  const setLoan = async (value: string): Promise<void> => {
    await variable(/loan_id/).dblclick();
    await story.code.page.locator('.debug-variables input').fill(value);
    await story.code.page.keyboard.press('Enter');
    await variable(new RegExp(`loan_id.*${value}`)).waitFor();
  };

  story.step('a conditional breakpoint is set on a tool', async () => {
    const { workbench, page } = story.code;
    await workbench.openFile('loans.ts');
    await page.keyboard.press('Control+G');
    await workbench.answer(':16');
    await workbench.atLine(16).waitFor();
    await workbench.command('Debug: Add Conditional Breakpoint...');
    await page.locator('.breakpoint-widget .inputContainer .monaco-editor').first().waitFor();
    await page.keyboard.type('tool.arguments.loan_id == "L-3001"');
    await page.keyboard.press('Enter');
    await page.locator('.codicon-debug-breakpoint-conditional, .codicon-debug-breakpoint-conditional-unverified').first().waitFor();
  });

  story.step('F5 on a batch file runs an attempt and holds it at its first call', async () => {
    const { workbench, page } = story.code;
    await workbench.openFile('first.batch.yaml');
    await page.locator('.monaco-editor.focused').waitFor();
    await page.keyboard.press('F5');
    await page.locator('.debug-toolbar').waitFor({ timeout: 90_000 });
    await page.keyboard.press('Control+Shift+D'); // its badge lies over the icon
    await frame('step 1').waitFor({ timeout: 90_000 });
  });

  story.step('it stops in the tool’s code, with arguments in sight, the page beside it at the same call', async () => {
    const { workbench } = story.code;
    await goOn();
    await frame(TOOL).waitFor({ timeout: 60_000 });
    await workbench.tab('loans.ts').waitFor();
    await workbench.atLine(16).waitFor();
    await variable(/loan_id.*L-3001/).waitFor();
    await workbench.webview().getByRole('treeitem', { name: new RegExp(TOOL), selected: true }).waitFor();
  });

  story.step('an argument is edited, and the verifier has its say', async () => {
    const { workbench } = story.code;
    await setLoan('"L-3002"');
    await goOn();
    await ended().waitFor();
    await workbench.webview().getByText('change of loans L-3002').first().waitFor();
  });

  story.step('it is stepped back through, the page following; a step in the page moves the debugger', async () => {
    const { page } = story.code;
    await page.locator('.debug-toolbar .codicon-debug-step-back').click();
    await frame(TOOL).waitFor();
    await story.trajectory.selected.filter({ hasText: TOOL }).waitFor();
    await story.trajectory.steps.focus();
    await page.keyboard.press('Home');
    await page.keyboard.press('j');
    await frame('system message').waitFor();
    await page.locator('.debug-toolbar .codicon-debug-step-back').click();
    await frame(TOOL).waitFor();
  });

  story.step('mended, it is restarted from that call as a fork, and passes', async () => {
    const { page } = story.code;
    await setLoan('"L-3001"');
    await frame(TOOL).click({ button: 'right' });
    await page.getByRole('menuitem', { name: 'Restart Frame' }).click();
    await page.getByText('Paused on entry').first().waitFor();
    await frame(TOOL).waitFor();
    await goOn();
    await ended().waitFor();
    await page.locator('.view-lines').getByText('done · passed · reward 1').first().waitFor();
    await page.keyboard.press('Shift+F5');
    await page.locator('.debug-toolbar').waitFor({ state: 'hidden' });
  });
});
