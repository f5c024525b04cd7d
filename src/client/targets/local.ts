/** What the machine one sits at is called where a target is asked for. */
export const LOCAL = 'local';
