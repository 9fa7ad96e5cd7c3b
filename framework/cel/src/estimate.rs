//! The maximum cost of an evaluation, by the sizes that schemas allow.
//!
//! The estimates are those of `cel-go` (`checker/cost.go`) and of Kubernetes (`apiserver/pkg/cel/library/cost.go`),
//! but only the upper bounds.
//!
//! If less is known about a type than in `cel-go`, the estimate is lower. The limits at run time hold in any case.

use kube_cel::cel::common::ast::operators;

/// The cost of a call and the maximum size of its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Estimate {
    pub cost: u64,
    /// The maximum number of characters of a text, or of items of a list; 1 if nothing is known.
    pub size: u64,
}

/// The known facts about an argument of a call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Argument {
    /// The maximum size of the value.
    pub size: u64,
    /// The maximum size of its items, if the value is a list of texts.
    pub item: u64,
    pub is_list: bool,
}

fn tenth(size: u64) -> u64 {
    size.div_ceil(10)
}

/// The cost of the call in addition to its arguments.
/// For a method, the first argument is the value on which it is called.
pub(crate) fn call(function: &str, arguments: &[Argument]) -> Estimate {
    let size = |index: usize| arguments.get(index).map_or(1, |argument| argument.size);
    let plain = |cost: u64| Estimate { cost, size: 1 };
    match function {
        operators::LOGICAL_AND | operators::LOGICAL_OR => plain(0),
        operators::CONDITIONAL => Estimate { cost: 0, size: size(1).max(size(2)) },
        operators::ADD => {
            let size = size(0).saturating_add(size(1));
            let is_list = arguments.iter().any(|argument| argument.is_list);
            Estimate { cost: if is_list { 1 } else { tenth(size) }, size }
        }
        operators::EQUALS
        | operators::NOT_EQUALS
        | operators::LESS
        | operators::LESS_EQUALS
        | operators::GREATER
        | operators::GREATER_EQUALS => plain(tenth(size(0).min(size(1)))),
        operators::IN => plain(if arguments.get(1).is_some_and(|list| list.is_list) { size(1) } else { 1 }),
        "matches" | "find" | "findAll" => Estimate {
            cost: tenth(size(0).saturating_add(1)).saturating_mul(size(1).div_ceil(4)),
            size: size(0),
        },
        "contains" => plain(tenth(size(0)).saturating_mul(tenth(size(1)))),
        "startsWith" | "endsWith" => plain(tenth(size(1))),
        "isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf" => {
            let first = arguments.first();
            let each = first.map_or(1, |first| tenth(first.item).saturating_add(1));
            let is_list = first.is_some_and(|first| first.is_list);
            plain(if is_list { size(0).saturating_mul(each) } else { tenth(size(0)) })
        }
        "url" | "isURL" | "quantity" | "isQuantity" | "ip" | "isIP" | "cidr" | "isCIDR" | "semver"
        | "isSemver" | "bytes" | "format" => plain(tenth(size(0))),
        "lowerAscii" | "upperAscii" | "substring" | "trim" | "string" => {
            Estimate { cost: tenth(size(0)), size: size(0) }
        }
        "split" => Estimate { cost: tenth(size(0).saturating_mul(2)), size: size(0) },
        "replace" | "join" => Estimate { cost: tenth(size(0).saturating_mul(2)), size: size(0) },
        _ => plain(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_cost_the_same_as_in_a_real_server() {
        let text = |size: u64| Argument { size, item: 1, is_list: false };
        let list = |size: u64, item: u64| Argument { size, item, is_list: true };
        let table = [
            ("startsWith", vec![text(1000), text(25)], 3),
            ("contains", vec![text(100), text(11)], 20),
            ("matches", vec![text(99), text(8)], 20),
            (operators::EQUALS, vec![text(100), text(40)], 4),
            (operators::IN, vec![text(10), list(50, 10)], 50),
            (operators::LOGICAL_AND, vec![text(1), text(1)], 0),
            ("isSorted", vec![list(50, 10)], 100),
            ("size", vec![list(50, 10)], 1),
        ];
        for (function, arguments, expected) in table {
            assert_eq!(call(function, &arguments).cost, expected, "{function}");
        }
    }
}
