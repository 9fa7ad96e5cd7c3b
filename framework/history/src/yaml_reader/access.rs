//! The parts of a list, a map or a variant, between the parser and a type.

use serde::de::{DeserializeSeed, EnumAccess, MapAccess, SeqAccess, VariantAccess, Visitor};

use super::failure::Failure;
use super::object::{Map, SeedObject, SeedSlot, Seq, VisitorObject, VisitorSlot};
use super::source::{ForwardedSeed, ForwardedVisitor};

const VARIANT_FIRST: &str = "the name of a variant is read before its content";

/// The elements of a list. The seed reads nothing at the end.
pub(super) trait Elements<'de> {
    fn element(&mut self, seed: &mut dyn SeedObject<'de>) -> Result<(), Failure>;
    fn size(&self) -> Option<usize>;
}

/// The entries of a map. The seed of a key reads nothing at the end.
pub(super) trait Entries<'de> {
    fn key(&mut self, seed: &mut dyn SeedObject<'de>) -> Result<(), Failure>;
    fn value(&mut self, seed: &mut dyn SeedObject<'de>) -> Result<(), Failure>;
    fn size(&self) -> Option<usize>;
}

/// A variant of an enum: its name, and then its content.
pub(super) trait Content<'de> {
    fn name(&mut self, seed: &mut dyn SeedObject<'de>) -> Result<(), Failure>;
    fn unit(&mut self) -> Result<(), Failure>;
    fn newtype(&mut self, seed: &mut dyn SeedObject<'de>) -> Result<(), Failure>;
    fn tuple(&mut self, length: usize, visitor: &mut dyn VisitorObject<'de>) -> Result<(), Failure>;
    fn fields(
        &mut self,
        fields: &'static [&'static str],
        visitor: &mut dyn VisitorObject<'de>,
    ) -> Result<(), Failure>;
}

/// A list or a map of the parser, and its error.
pub(super) struct HeldAccess<A, E> {
    pub(super) access: A,
    pub(super) error: Option<E>,
}

impl<'de, A: SeqAccess<'de>> Elements<'de> for HeldAccess<A, A::Error> {
    fn element(&mut self, seed: &mut dyn SeedObject<'de>) -> Result<(), Failure> {
        Failure::keep(self.access.next_element_seed(ForwardedSeed(seed)).map(drop), &mut self.error)
    }

    fn size(&self) -> Option<usize> {
        self.access.size_hint()
    }
}

impl<'de, A: MapAccess<'de>> Entries<'de> for HeldAccess<A, A::Error> {
    fn key(&mut self, seed: &mut dyn SeedObject<'de>) -> Result<(), Failure> {
        Failure::keep(self.access.next_key_seed(ForwardedSeed(seed)).map(drop), &mut self.error)
    }

    fn value(&mut self, seed: &mut dyn SeedObject<'de>) -> Result<(), Failure> {
        Failure::keep(self.access.next_value_seed(ForwardedSeed(seed)), &mut self.error)
    }

    fn size(&self) -> Option<usize> {
        self.access.size_hint()
    }
}

/// A variant of the parser, of which first the name and then the content is read, and its error.
pub(super) struct HeldEnum<A, C, E> {
    pub(super) access: Option<A>,
    pub(super) content: Option<C>,
    pub(super) error: Option<E>,
}

impl<A, C, E> HeldEnum<A, C, E> {
    fn content(&mut self) -> C {
        self.content.take().expect(VARIANT_FIRST)
    }
}

impl<'de, A: EnumAccess<'de>> Content<'de> for HeldEnum<A, A::Variant, A::Error> {
    fn name(&mut self, seed: &mut dyn SeedObject<'de>) -> Result<(), Failure> {
        let access = self.access.take().expect("the name of a variant is read once");
        let ((), content) = Failure::keep(access.variant_seed(ForwardedSeed(seed)), &mut self.error)?;
        self.content = Some(content);
        Ok(())
    }

    fn unit(&mut self) -> Result<(), Failure> {
        Failure::keep(self.content().unit_variant(), &mut self.error)
    }

    fn newtype(&mut self, seed: &mut dyn SeedObject<'de>) -> Result<(), Failure> {
        Failure::keep(self.content().newtype_variant_seed(ForwardedSeed(seed)), &mut self.error)
    }

    fn tuple(&mut self, length: usize, visitor: &mut dyn VisitorObject<'de>) -> Result<(), Failure> {
        Failure::keep(self.content().tuple_variant(length, ForwardedVisitor(visitor)), &mut self.error)
    }

    fn fields(
        &mut self,
        fields: &'static [&'static str],
        visitor: &mut dyn VisitorObject<'de>,
    ) -> Result<(), Failure> {
        Failure::keep(self.content().struct_variant(fields, ForwardedVisitor(visitor)), &mut self.error)
    }
}

/// A list or a map of the parser, for a type.
pub(super) struct PointedAccess<'a, A: ?Sized>(pub(super) &'a mut A);

impl<'de> SeqAccess<'de> for PointedAccess<'_, dyn Elements<'de> + '_> {
    type Error = Failure;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Failure> {
        let mut slot = SeedSlot::new(seed);
        self.0.element(&mut slot)?;
        Ok(slot.value())
    }

    fn size_hint(&self) -> Option<usize> {
        self.0.size()
    }
}

impl<'de> MapAccess<'de> for PointedAccess<'_, dyn Entries<'de> + '_> {
    type Error = Failure;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Failure> {
        let mut slot = SeedSlot::new(seed);
        self.0.key(&mut slot)?;
        Ok(slot.value())
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Failure> {
        let mut slot = SeedSlot::new(seed);
        self.0.value(&mut slot)?;
        Ok(slot.into_value())
    }

    fn size_hint(&self) -> Option<usize> {
        self.0.size()
    }
}

/// A variant of the parser, for a type.
pub(super) struct PointedEnum<'a, 'de>(pub(super) &'a mut dyn Content<'de>);

impl<'de> EnumAccess<'de> for PointedEnum<'_, 'de> {
    type Error = Failure;
    type Variant = Self;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self), Failure> {
        let mut slot = SeedSlot::new(seed);
        self.0.name(&mut slot)?;
        Ok((slot.into_value(), self))
    }
}

impl<'de> VariantAccess<'de> for PointedEnum<'_, 'de> {
    type Error = Failure;

    fn unit_variant(self) -> Result<(), Failure> {
        self.0.unit()
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, Failure> {
        let mut slot = SeedSlot::new(seed);
        self.0.newtype(&mut slot)?;
        Ok(slot.into_value())
    }

    fn tuple_variant<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value, Failure> {
        let mut slot = VisitorSlot::<_, Seq>::new(visitor);
        self.0.tuple(length, &mut slot)?;
        Ok(slot.into_value())
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Failure> {
        let mut slot = VisitorSlot::<_, Map>::new(visitor);
        self.0.fields(fields, &mut slot)?;
        Ok(slot.into_value())
    }
}
