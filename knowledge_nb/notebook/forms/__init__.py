"""Query forms for notebooks: ipywidgets only, so that JupyterLab, Notebook 7, VS Code and Voila
show them alike. A form asks the facade's core and shows the answer; it holds no rule.
"""
