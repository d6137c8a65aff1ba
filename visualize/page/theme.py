"""The Gradio theme: paper, ink and one accent, the same as the viewer's; system fonts, nothing to fetch."""

import gradio as gr

from visualize.theme import STYLES, TREE_MARKS, Theme, palette

SANS = ("ui-sans-serif", "system-ui", "-apple-system", "Segoe UI", "Noto Sans", "DejaVu Sans", "sans-serif")
MONO = ("ui-monospace", "SF Mono", "Cascadia Code", "DejaVu Sans Mono", "Menlo", "Consolas", "monospace")
PLACES: dict[Theme, str] = {"light": ".gradio-container", "dark": "body.dark .gradio-container"}
LINE, LINE_DARK = "#e3e6ea", "#2b3138"


def page_theme() -> gr.themes.Base:
    light, dark = palette("light"), palette("dark")
    theme = gr.themes.Base(font=list(SANS), font_mono=list(MONO), radius_size="sm", text_size="md")
    paired = {
        "body_background_fill": (light.paper, dark.paper),
        "background_fill_primary": (light.paper, dark.paper),
        "background_fill_secondary": (light.band, dark.band),
        "body_text_color": (light.ink, dark.ink),
        "body_text_color_subdued": (light.soft, dark.soft),
        "block_background_fill": ("transparent", "transparent"),
        "block_label_background_fill": ("transparent", "transparent"),
        "block_label_text_color": (light.soft, dark.soft),
        "block_title_text_color": (light.ink, dark.ink),
        "block_info_text_color": (light.soft, dark.soft),
        "border_color_primary": (LINE, LINE_DARK),
        "border_color_accent": (light.accent, dark.accent),
        "color_accent_soft": (light.band, dark.band),
        "input_background_fill": (light.paper, dark.paper),
        "input_border_color": ("#cfd5db", "#3a424b"),
        "input_border_color_focus": (light.accent, dark.accent),
        "input_placeholder_color": (light.soft, dark.soft),
        "slider_color": (light.accent, dark.accent),
        "checkbox_background_color_selected": (light.accent, light.accent),
        "checkbox_border_color_selected": (light.accent, light.accent),
        "checkbox_label_background_fill": ("transparent", "transparent"),
        "checkbox_label_background_fill_selected": (light.band, dark.band),
        "button_primary_background_fill": (light.accent, light.accent),
        "button_primary_background_fill_hover": ("#275e95", "#3474b4"),
        "button_primary_text_color": ("#ffffff", "#ffffff"),
        "button_secondary_background_fill": ("transparent", "transparent"),
        "button_secondary_background_fill_hover": (light.band, dark.band),
        "button_secondary_border_color": ("#cfd5db", "#3a424b"),
        "button_secondary_text_color": (light.ink, dark.ink),
        "link_text_color": (light.accent, dark.accent),
    }
    values = {name: pair[0] for name, pair in paired.items()}
    values |= {f"{name}_dark": pair[1] for name, pair in paired.items()}
    return theme.set(
        **values,
        color_accent=light.accent,
        block_border_width="0px",
        block_padding="0px",
        block_shadow="none",
        block_title_text_size="0.875rem",
        block_title_text_weight="500",
        block_info_text_size="0.8125rem",
        form_gap_width="0px",
        input_border_width="1px",
        input_shadow="none",
        button_large_text_weight="600",
        layout_gap="20px",
    )


def mark_colors() -> str:
    """The colours of the marks below words, in both themes: those of the viewer."""
    return "".join(
        f"{place} {{{' '.join(f'--o-{mark}: {STYLES[mark].color(theme)};' for mark in TREE_MARKS)}}}"
        for theme, place in PLACES.items()
    )
