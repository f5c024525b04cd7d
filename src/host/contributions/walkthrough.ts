/** “Get started”: from nothing to the inside of a trajectory in four steps. */

const picture = (name: string, altText: string): { readonly svg: string; readonly altText: string } => ({
  svg: `media/walkthrough/${name}.svg`,
  altText,
});

export const walkthroughs = [
  {
    id: 'start',
    title: 'Get Started with Rollout Studio',
    description: 'Run an agent on the same tasks many times and see what it did.',
    icon: 'media/icons/activity.svg',
    steps: [
      {
        id: 'sample',
        title: 'Create the sample workspace',
        description:
          'A library’s lending desk: an agent, nine tools, a world in a database and twelve tasks. It runs ' +
          'offline; its model is a set of rules with seeded mistakes.\n[Create Sample ' +
          'Workspace](command:rollout.createSample)',
        media: picture('sample', 'A folder with an agent file, a tools folder, a world and a dataset of tasks.'),
        completionEvents: ['onCommand:rollout.createSample', 'onContext:rollout.hasBatchFiles'],
      },
      {
        id: 'launch',
        title: 'Launch a batch',
        description:
          'A batch is every task times some attempts. Choose the file `desk.batch.yaml`, the tasks and how many ' +
          'attempts each gets.\n[Launch Batch…](command:rollout.launchBatch)\nThe same is offered above the ' +
          'first line of every batch file, and by the Testing view.',
        media: picture('launch', 'Three questions in a row: which file, which tasks, how many attempts.'),
        completionEvents: ['onCommand:rollout.launchBatch', 'onContext:rollout.hasBatches'],
      },
      {
        id: 'watch',
        title: 'Watch the grid fill',
        description:
          'Each row is a task, each cell an attempt. Shapes tell how it ended: a dot passed, a cross failed, a ' +
          'half-filled dot was cut off by a limit.\n[Open Batch…](command:rollout.openBatch)',
        media: picture(
          'watch',
          'A grid of tasks and attempts with dots, crosses and half-filled dots, and a curve of pass@k beside it.',
        ),
        completionEvents: ['onCommand:rollout.openBatch', 'onContext:rollout.activeBatch'],
      },
      {
        id: 'step',
        title: 'Step through a trajectory',
        description:
          'Open an attempt, also while it runs. `j` and `k` go from call to call, `e` to the next error; a click ' +
          'on a place opens the tool’s source line.\n[Open Trajectory…](command:rollout.openTrajectory)',
        media: picture(
          'step',
          'A time axis with lanes for model and tools above a list of steps; one step is selected and shows its ' +
            'arguments and its result.',
        ),
        completionEvents: ['onCommand:rollout.openTrajectory'],
      },
    ],
  },
] as const;
