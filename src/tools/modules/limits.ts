/** Results longer than this are told in part; the whole is kept apart. In bytes of UTF-8. */
export const RESULT_BYTES = 1024 * 1024;
/** What is kept of a whole result or output at most, in bytes. */
export const KEPT_BYTES = 64 * 1024 * 1024;
/** What one call may print, in characters; what is more is counted and dropped. */
export const PRINT_CHARS = 1024 * 1024;
/** A call that prints more characters than this is stopped. */
export const FLOOD_CHARS = 256 * 1024 * 1024;
