declare const __PRODUCT_VERSION__: string | undefined;

/**
 * Name and version of the running product, such as `rollout-studio 0.1.0`. When run from source (tests), the version is
 * `dev`.
 */
export const PRODUCT = `rollout-studio ${typeof __PRODUCT_VERSION__ === 'string' ? __PRODUCT_VERSION__ : 'dev'}`;
