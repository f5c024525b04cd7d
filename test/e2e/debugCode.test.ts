/**
 * From a trajectory into the code of a tool: a live call continues in VS Code's own JavaScript debugger, and returns.
 */
import { describe } from 'node:test';
import { Debugging } from './support/debugging.ts';
import { sampleFolder } from './support/sample.ts';
import { Story } from './support/story.ts';

const TOOL = 'renew_loan';

describe('stepping into the code of a live tool call', { timeout: 400_000 }, () => {
  const story = new Story('debug-code', sampleFolder('latency_ms=50&slots=16'), {
    viewport: { width: 1600, height: 1000 },
  });
  const debug = new Debugging(() => story.code);

  story.step('a conditional breakpoint stops a live rollout at a call', async () => {
    await debug.breakAt('loans.ts', 16, 'tool.arguments.loan_id == "L-3001"');
    await debug.launch('first.batch.yaml');
    await debug.move('continue');
    await debug.frame(TOOL).waitFor({ timeout: 60_000 });
    await story.code.workbench.atLine(16).waitFor();
    await story.trajectory.selected.filter({ hasText: TOOL }).waitFor();
  });

  story.step('Step Into stops at the first line of the tool’s function, in the JavaScript debugger', async () => {
    const { workbench } = story.code;
    await debug.move('step-into');
    await workbench.atLine(20).waitFor({ timeout: 60_000 });
    await debug.frame('run').waitFor();
    await debug.variable(/^args/).waitFor();
    await story.picture('debug-code');
  });

  story.step('it is stepped in the code', async () => {
    const { workbench } = story.code;
    await debug.move('step-into');
    await workbench.tab('desk.ts').waitFor();
    await debug.frame('renew').waitFor();
    await debug.variable(/L-3001/).waitFor();
    await debug.move('step-over');
    await workbench.atLine(80).waitFor();
  });

  story.step('stepping out returns to the trajectory, after the call', async () => {
    await debug.move('step-out');
    await debug.frame('run').waitFor();
    await debug.move('step-out');
    await debug.frame(TOOL).waitFor({ timeout: 60_000 });
    await story.code.workbench.atLine(16).waitFor();
    await debug.variable(/^Result/).waitFor();
    await story.code.workbench.webview().getByText('Paused after renew_loan').waitFor();
  });

  story.step('the rollout continues and passes', async () => {
    const { page } = story.code;
    await debug.move('continue');
    await debug.ended.waitFor();
    await page.locator('.view-lines').getByText('done · passed · reward 1').first().waitFor();
    await page.keyboard.press('Shift+F5');
    await page.locator('.debug-toolbar').waitFor({ state: 'hidden' });
  });
});
