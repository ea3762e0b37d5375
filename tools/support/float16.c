/* SPDX-License-Identifier: Apache-2.0 */
#include "float16.h"

#include <string.h>

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Shifts right by 1 to 31 bits, rounding to nearest, and to even from the middle. */
static uint32_t shift_rounded(uint32_t value, unsigned shift)
{
    uint32_t half = UINT32_C(1) << (shift - 1);
    uint32_t odd = value >> shift & 1;
    return (value + half - 1 + odd) >> shift;
}

uint16_t tkj_bfloat16_from_float(float value)
{
    uint32_t bits = bits_of(value);
    if ((bits & 0x7FFFFFFF) > 0x7F800000)
        return (uint16_t)(bits >> 16 | 0x40); /* rounding could make it an infinity */
    return (uint16_t)shift_rounded(bits, 16);
}

float tkj_bfloat16_to_float(uint16_t bits)
{
    return float_of((uint32_t)bits << 16);
}

uint16_t tkj_float16_from_float(float value)
{
    uint32_t bits = bits_of(value);
    uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & 0x7FFFFFFF;
    if (magnitude > 0x7F800000)
        return (uint16_t)(sign | 0x7E00 | (magnitude >> 13 & 0x1FF));
    if (magnitude >= 0x47800000) /* 2^16 */
        return (uint16_t)(sign | 0x7C00);
    uint32_t exponent = magnitude >> 23;
    if (exponent >= 113) /* 2^-14, the least normal one; a carry into the exponent is right */
        return (uint16_t)(sign | shift_rounded(magnitude - (UINT32_C(112) << 23), 13));
    if (exponent < 102) /* below half of the least denormal one */
        return (uint16_t)sign;
    return (uint16_t)(sign | shift_rounded((magnitude & 0x7FFFFF) | 0x800000, 126 - exponent));
}

float tkj_float16_to_float(uint16_t bits)
{
    uint32_t sign = (uint32_t)(bits & 0x8000) << 16, magnitude = bits & 0x7FFF;
    if (magnitude >= 0x7C00)
        return float_of(sign | 0x7F800000 | magnitude << 13);
    if (magnitude < 0x400)
        return float_of(sign | bits_of((float)magnitude * 0x1p-24F));
    return float_of(sign | ((magnitude << 13) + (UINT32_C(112) << 23)));
}
