/* Loaded and unloaded while somebody lies about it. */
__attribute__((noipa)) int comes_late(int n) { return 2 * n; }
