/** How a world predicts the calls of a recording, in words. */
export const MODES = {
  forced: { short: 'teacher-forced', title: 'Each call is predicted after what was really seen before it' },
  free: { short: 'free-running', title: 'Each call is predicted after what the world itself answered before it' },
} as const;
