/**
 * The debugger in VS Code: a live attempt held, edited, and released; its record stepped back through; both views of
 * the cursor in sync.
 */
import { describe } from 'node:test';
import { Debugging } from './support/debugging.ts';
import { sampleFolder } from './support/sample.ts';
import { Story } from './support/story.ts';

const TOOL = 'renew_loan';

describe('debugging a trajectory in VS Code', { timeout: 400_000 }, () => {
  const story = new Story('debug', sampleFolder('latency_ms=50&slots=16'), { viewport: { width: 1600, height: 1000 } });
  const debug = new Debugging(() => story.code);
  const setLoan = (value: string): Promise<void> =>
    debug.setVariable(/loan_id/, value, new RegExp(`loan_id.*${value}`));

  story.step('a conditional breakpoint is set on a tool', () =>
    debug.breakAt('loans.ts', 16, 'tool.arguments.loan_id == "L-3001"'),
  );

  story.step('F5 on a batch file runs an attempt and holds it at its first call', () =>
    debug.launch('first.batch.yaml'),
  );

  story.step('it stops in the tool’s code, with its arguments, and the page beside it at the same call', async () => {
    const { workbench } = story.code;
    await debug.move('continue');
    await debug.frame(TOOL).waitFor({ timeout: 60_000 });
    await workbench.tab('loans.ts').waitFor();
    await workbench.atLine(16).waitFor();
    await debug.variable(/loan_id.*L-3001/).waitFor();
    await workbench
      .webview()
      .getByRole('treeitem', { name: new RegExp(TOOL), selected: true })
      .waitFor();
    await story.picture('debug-held');
  });

  story.step('an argument is edited, and the verifier scores it', async () => {
    const { workbench } = story.code;
    await setLoan('"L-3002"');
    await debug.move('continue');
    await debug.ended.waitFor();
    // The verdict names the row that changed instead of the right one.
    await workbench.webview().getByText('loans L-3002').first().waitFor();
  });

  story.step('it is stepped back through, the page following; a step in the page moves the debugger', async () => {
    const { page } = story.code;
    await debug.move('step-back');
    await debug.frame(TOOL).waitFor();
    await story.trajectory.selected.filter({ hasText: TOOL }).waitFor();
    await story.trajectory.steps.focus();
    await page.keyboard.press('Home');
    await page.keyboard.press('j');
    await debug.frame('system message').waitFor();
    await debug.move('step-back');
    await debug.frame(TOOL).waitFor();
  });

  story.step('it is restarted from the fixed call as a fork, and passes', async () => {
    const { page } = story.code;
    await setLoan('"L-3001"');
    await debug.frame(TOOL).click({ button: 'right' });
    await story.code.workbench.chooseFromMenu('Restart Frame');
    await page.getByText('Paused on entry').first().waitFor();
    await debug.frame(TOOL).waitFor();
    await debug.move('continue');
    await debug.ended.waitFor();
    await page.locator('.view-lines').getByText('done · passed · reward 1').first().waitFor();
    await page.keyboard.press('Shift+F5');
    await page.locator('.debug-toolbar').waitFor({ state: 'hidden' });
  });
});
