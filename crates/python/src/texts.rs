//! Reads arguments that are an iterable of str.

use std::borrow::Cow;

use pairloom_core::memory::TryReserve;
use pairloom_core::text::Characters;
use pyo3::exceptions::{PyTypeError, PyUnicodeEncodeError};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};

use crate::errors::type_name;
use crate::objects::{no_memory, vec_with_capacity};
use crate::text::{characters, lone_surrogate, not_a_str, utf8};

/// The texts of one call; errors call them `name[index]`.
pub struct Texts<'py> {
    name: &'static str,
    /// The index of the first text, counting the texts of earlier calls.
    first: u64,
    texts: Vec<Bound<'py, PyString>>,
}

impl<'py> Texts<'py> {
    /// Collects the items of `texts`; TypeError for one that is not a str.
    pub fn from_iterable(name: &'static str, first: u64, texts: &Bound<'py, PyAny>) -> PyResult<Self> {
        let mut found = Texts { name, first, texts: Vec::new() };
        match texts.cast_exact::<PyList>() {
            Ok(list) => {
                found.texts = vec_with_capacity(list.len())?;
                list.iter().try_for_each(|text| found.push(text))?;
            }
            // Does not reserve by the iterable's length hint, which can be wrong.
            Err(_) => {
                let items = texts.try_iter().map_err(|_| {
                    PyTypeError::new_err(format!(
                        "{name} must be an iterable of str, not {}",
                        type_name(texts)
                    ))
                })?;
                items.into_iter().try_for_each(|text| found.push(text?))?;
            }
        }
        Ok(found)
    }

    fn push(&mut self, text: Bound<'py, PyAny>) -> PyResult<()> {
        let text = text.cast_into::<PyString>().map_err(|error| {
            let (name, index) = (self.name, self.first + self.texts.len() as u64);
            not_a_str(&format!("{name}[{index}]"), &error.into_inner())
        })?;
        self.texts.try_push(text, "a list of texts").map_err(|_| no_memory())
    }

    /// Returns the number of texts.
    pub fn len(&self) -> usize {
        self.texts.len()
    }

    /// Borrows the characters of each text.
    pub fn characters(&self) -> PyResult<Vec<Characters<'_>>> {
        let mut all = vec_with_capacity(self.len())?;
        for text in &self.texts {
            all.push(characters(text)?);
        }
        Ok(all)
    }

    /// Returns the UTF-8 of each text; UnicodeEncodeError for a lone surrogate.
    pub fn utf8(&self) -> PyResult<Vec<Cow<'_, str>>> {
        let mut all = vec_with_capacity(self.len())?;
        for text in &self.texts {
            all.push(utf8(text).map_err(|error| self.locate(error))?);
        }
        Ok(all)
    }

    /// Replaces a UnicodeEncodeError by one that has the text with the lone surrogate, and its position.
    pub fn locate(&self, error: PyErr) -> PyErr {
        let Some(text) = self.texts.first() else { return error };
        let py = text.py();
        if !error.is_instance_of::<PyUnicodeEncodeError>(py) {
            return error;
        }
        match (self.first..).zip(&self.texts).find(|(_, text)| text.encode_utf8().is_err()) {
            Some((index, text)) => lone_surrogate(text, &format!("; the text is {}[{index}]", self.name)),
            None => error,
        }
    }
}
