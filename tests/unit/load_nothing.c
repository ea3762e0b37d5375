/* SPDX-License-Identifier: Apache-2.0 */
/* A library that does nothing when it is loaded: what the compiler adds to any. */
int load_nothing(void);
int load_nothing(void)
{
    return 0;
}
