/** The target name of the local machine. */
export const LOCAL = 'local';
