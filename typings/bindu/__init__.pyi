# What Holdfast uses of the framework `bindu`, as far as types go: it needs Python 3.12, and has none itself.
