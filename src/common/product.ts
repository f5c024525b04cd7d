declare const __PRODUCT_VERSION__: string | undefined;

/**
 * Name and version of the product as it is running, e.g. `rollout-studio 0.1.0`. From source (tests) the version is
 * `dev`.
 */
export const PRODUCT = `rollout-studio ${typeof __PRODUCT_VERSION__ === 'string' ? __PRODUCT_VERSION__ : 'dev'}`;
