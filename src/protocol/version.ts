/** Major version of all protocols of the product. Both ends must agree. */
export const PROTOCOL = 4;
