#if canImport(LocalAuthentication)
    import Countersign
    import Foundation
    import LocalAuthentication
    import Security

    /// An answered question of the operating system.
    // Safe to share: the context is not changed after the answer, except by the Keychain's and the chip's own functions,
    // which may run on any thread.
    struct ContextApproval: PersonApproval, @unchecked Sendable {
        let context: LAContext
    }

    /// The operating system's questions to the person, by LocalAuthentication.
    struct SystemDialog: PersonCheck {
        /// The text of a dialog whose app gave none: LocalAuthentication refuses an empty text.
        let usualReason: String

        /// The sensor of the device, as far as the system tells.
        static var biometryType: LABiometryType {
            let context = LAContext()
            // The type is known after this question.
            _ = context.canEvaluatePolicy(.deviceOwnerAuthenticationWithBiometrics, error: nil)
            return context.biometryType
        }

        func biometrics() -> BiometricState {
            let context = LAContext()
            var error: NSError?
            let isReady = context.canEvaluatePolicy(.deviceOwnerAuthenticationWithBiometrics, error: &error)
            return BiometricState(
                set: Self.enrolledSet(context).map { Array($0) },
                refusal: isReady ? nil : error.map { SystemRefusal($0) } ?? SystemRefusal(.other, 0))
        }

        func passcodeRefusal() -> SystemRefusal? {
            var error: NSError?
            guard !LAContext().canEvaluatePolicy(.deviceOwnerAuthentication, error: &error) else { return nil }
            return error.map { SystemRefusal($0) } ?? SystemRefusal(.other, 0)
        }

        func ask(_ demand: PersonDemand, _ prompt: SystemPrompt) async throws -> any PersonApproval {
            let control = try KeyAccess(.whilePasscodeIsSet, demand).control(isForKey: true)
            let question = Question(control)
            question.context.localizedFallbackTitle = prompt.fallbackTitle
            question.context.localizedCancelTitle = prompt.cancelTitle
            let reason = prompt.reason.flatMap { $0.isEmpty ? nil : $0 } ?? self.usualReason
            try await withTaskCancellationHandler {
                try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                    question.context.evaluateAccessControl(
                        question.control, operation: .useKeySign, localizedReason: reason
                    ) { @Sendable isApproved, error in
                        if isApproved { return continuation.resume() }
                        continuation.resume(throwing: error.map { SystemRefusal($0) } ?? SystemRefusal(.other, 0))
                    }
                }
            } onCancel: {
                question.context.invalidate()
            }
            return ContextApproval(context: question.context)
        }

        private static func enrolledSet(_ context: LAContext) -> Data? {
            #if os(macOS)
                return context.domainState.biometry.stateHash
            #else
                if #available(iOS 18, *) { return context.domainState.biometry.stateHash }
                return context.evaluatedPolicyDomainState
            #endif
        }
    }

    // Safe to share: the context is configured before the question, and `invalidate` may be called on any thread.
    private final class Question: @unchecked Sendable {
        let context = LAContext()
        let control: SecAccessControl

        init(_ control: SecAccessControl) { self.control = control }
    }
#endif
