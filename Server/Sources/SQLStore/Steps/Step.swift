/// A step of the store: its name, the rows that the step locks first, and its isolation from other steps.
///
/// SQLite has one writer, so its driver uses the name alone. A database with several writers locks the guarded rows
/// before the step begins, and runs the step with the isolation.
package struct Step: Sendable {
    /// The isolation of a step from steps that run at the same time.
    package enum Isolation: String, Sendable {
        /// Each statement sees what was committed before the statement. Enough if the guards and the statements' own
        /// conditions hold everything that the step relies on.
        case readCommitted
        /// The step runs as if no other serializable step ran at the same time. Needed if the step relies on rows that
        /// no guard can name: on the absence of a row, or on a number of rows.
        case serializable
    }

    /// The name of the step: the feature and the change, as in "mail.keep-ask". Unique among the steps.
    package let name: StaticString
    /// The isolation from other steps.
    package let isolation: Isolation
    private let listGuards: @Sendable () -> [StepGuard]

    /// Makes a step of its name, of the rows that the step locks, and of its isolation.
    ///
    /// `guards` is evaluated by databases with several writers alone.
    package init(
        _ name: StaticString, guards: @escaping @autoclosure @Sendable () -> [StepGuard], isolation: Isolation
    ) {
        self.name = name
        self.isolation = isolation
        self.listGuards = guards
    }

    /// The rows that the step locks, in the order of all steps. Two steps that lock the same rows in one order do not
    /// wait for each other for ever.
    package var guards: [StepGuard] { self.listGuards().sorted { $0.table < $1.table } }
}
