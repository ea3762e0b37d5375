/* SPDX-License-Identifier: Apache-2.0 */
typedef int tkj_placeholder;
