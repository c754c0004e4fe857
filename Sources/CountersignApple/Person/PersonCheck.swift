package import Countersign

/// The questions of the operating system to the person, as this target asks them.
package protocol PersonCheck: Sendable {
    /// Returns the state of fingers or faces, without a question.
    func biometrics() -> BiometricState

    /// Returns the reason for which the device's passcode cannot be asked for; `nil` if a passcode is set.
    func passcodeRefusal() -> SystemRefusal?

    /// Asks the person in a dialog with the texts, and returns the approval. Throws ``SystemRefusal``. When the task is
    /// cancelled, the dialog closes.
    func ask(_ demand: PersonDemand, _ prompt: SystemPrompt) async throws -> any PersonApproval
}

/// The fingers or faces of a device.
package struct BiometricState: Hashable, Sendable {
    /// The system's name for the enrolled set (`evaluatedPolicyDomainState`); `nil` if the system does not tell.
    package let set: [UInt8]?
    /// The reason for which no finger or face can be asked for; `nil` if the person can be asked.
    package let refusal: SystemRefusal?

    package init(set: [UInt8]?, refusal: SystemRefusal?) {
        self.set = set
        self.refusal = refusal
    }
}

/// The demand on the person for an approval.
package enum PersonDemand: UInt8, Hashable, Sendable, CaseIterable {
    /// Nothing.
    case nobody = 0
    /// A finger or a face of the set that was enrolled when the key or item was made.
    case currentBiometry = 1
    /// A finger or a face that is enrolled now.
    case anyBiometry = 2
    /// A finger or a face that is enrolled now, or the device's passcode.
    case anyBiometryOrPasscode = 3
    /// The device's passcode.
    case passcode = 4

    /// Returns the texts of the dialog: without a way to the passcode if no passcode is accepted.
    ///
    /// The operating system shows a button for the passcode unless its title is empty, and pressing the button ends the
    /// question.
    package func prompt(_ prompt: SystemPrompt) -> SystemPrompt {
        var shown = prompt
        if self == .currentBiometry || self == .anyBiometry { shown.fallbackTitle = "" }
        return shown
    }
}

/// A sensor of fingers or faces, with the operating system's matcher.
package struct SystemSensor: BiometricSensor {
    private let person: any PersonCheck

    package init(_ person: any PersonCheck) { self.person = person }

    /// Returns the system's name for the enrolled set; `nil` if nothing is enrolled.
    ///
    /// Throws ``SensorError`` `disconnected` if the sensor is locked or may not be used: the set is then unknown, and an
    /// unknown set is not a changed set.
    package func enrolledSet() async throws -> [UInt8]? {
        let state = self.person.biometrics()
        if state.refusal?.meaning == .nothingEnrolled { return nil }
        guard let set = state.set else { throw SensorError.disconnected }
        return set
    }

    /// Asks once for a finger or face; see `BiometricSensor`.
    package func read(_ prompt: SystemPrompt, allowingDevicePasscode: Bool) async throws -> BiometricReading {
        try await self.person.reading(allowingDevicePasscode ? .anyBiometryOrPasscode : .anyBiometry, prompt)
    }
}

extension PersonCheck {
    /// Asks the person, and returns the result as a reading. Throws ``SensorError``, and `CancellationError` if the task
    /// is cancelled.
    func reading(_ demand: PersonDemand, _ prompt: SystemPrompt) async throws -> BiometricReading {
        do {
            _ = try await self.ask(demand, demand.prompt(prompt))
            return .match
        } catch let refusal as SystemRefusal {
            try Task.checkCancellation()
            switch refusal.meaning {
            case .reading(let reading): return reading
            case .sensor(let error): throw error
            case .nothingEnrolled: throw SensorError.disconnected
            case .locked, .missing, .unknown: throw SensorError.timedOut
            }
        }
    }
}
