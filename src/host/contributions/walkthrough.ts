/** The walkthrough: from an empty workspace to a trajectory in four steps. */

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
          'A batch runs several attempts of every task. Choose the file `desk.batch.yaml`, the tasks, and the ' +
          'number of attempts.\n[Launch Batch…](command:rollout.launchBatch)\nYou can also launch from the first ' +
          'line of every batch file and from the Testing view.',
        media: picture('launch', 'Three questions in a row: which file, which tasks, how many attempts.'),
        completionEvents: ['onCommand:rollout.launchBatch', 'onContext:rollout.hasBatches'],
      },
      {
        id: 'watch',
        title: 'Watch the grid fill',
        description:
          'Each row is a task and each cell an attempt. A dot means passed, a cross failed, and a half-filled dot ' +
          'stopped by a limit.\n[Open Batch…](command:rollout.openBatch)',
        media: picture(
          'watch',
          'A grid of tasks and attempts with dots, crosses, and half-filled dots, next to a pass@k curve.',
        ),
        completionEvents: ['onCommand:rollout.openBatch', 'onContext:rollout.activeBatch'],
      },
      {
        id: 'step',
        title: 'Step through a trajectory',
        description:
          'Open an attempt, even while it is running. Press `j` and `k` to move between calls and `e` to go to the ' +
          'next error. Click a location to open the tool’s source line.\n[Open ' +
          'Trajectory…](command:rollout.openTrajectory)',
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
