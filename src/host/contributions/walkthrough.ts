/** The walkthrough: from an empty workspace to the reason why an attempt failed, in four steps. */

const picture = (name: string, altText: string): { readonly svg: string; readonly altText: string } => ({
  svg: `media/walkthrough/${name}.svg`,
  altText,
});

export const walkthroughs = [
  {
    id: 'start',
    title: 'Get Started with Rollout Studio',
    description: 'Run an agent on the same tasks many times and see why attempts fail.',
    icon: 'media/icons/activity.svg',
    steps: [
      {
        id: 'sample',
        title: 'Create the sample workspace',
        description:
          'The lending desk of a library: an agent, nine tools, a world in a database, and twelve tasks. It runs ' +
          'offline, with a rule-based model that makes seeded mistakes.\n[Create Sample ' +
          'Workspace](command:rollout.createSample)',
        media: picture('sample', 'A folder with an agent file, a tools folder, a world, and a dataset of tasks.'),
        completionEvents: ['onCommand:rollout.createSample', 'onContext:rollout.hasBatchFiles'],
      },
      {
        id: 'launch',
        title: 'Launch a batch',
        description:
          'A batch runs several attempts of every task. Choose the file ``desk.batch.yaml``, the tasks, and the ' +
          'number of attempts.\n[Launch Batch…](command:rollout.launchBatch)\nYou can also launch from the first ' +
          'line of every batch file and from the Testing view.',
        media: picture('launch', 'Three questions in a row: which file, which tasks, how many attempts.'),
        completionEvents: ['onCommand:rollout.launchBatch', 'onContext:rollout.hasBatches'],
      },
      {
        id: 'watch',
        title: 'Watch the attempts',
        description:
          'The page opens at once and shows each attempt as it starts. A row is a task, a cell an attempt: a dot ' +
          'passed, a cross failed, a half-filled dot stopped at a limit. **Causes** counts why attempts did not ' +
          'pass.\n[Open Batch…](command:rollout.openBatch)',
        media: picture(
          'watch',
          'A grid of tasks and attempts with dots, crosses, and half-filled dots, next to a pass@k curve.',
        ),
        completionEvents: ['onCommand:rollout.openBatch', 'onContext:rollout.activeBatch'],
      },
      {
        id: 'step',
        title: 'See why an attempt failed',
        description:
          'On the batch page, press ``N`` to go to the next attempt that did not pass, then ``Enter``. It opens at ' +
          'the reason: the failed check with expected and actual values, the error of a call, or the step where it ' +
          'diverges from an attempt that passed. ``E`` goes to the next red mark, ``D`` to the divergence, ``C`` ' +
          'compares.\n[Open Trajectory…](command:rollout.openTrajectory)',
        media: picture(
          'step',
          'The reason above a list of steps: a loan was not renewed; the failed check is selected and shows the ' +
            'expected and the actual row.',
        ),
        completionEvents: ['onCommand:rollout.openTrajectory', 'onContext:rollout.activeTrajectory'],
      },
    ],
  },
] as const;
