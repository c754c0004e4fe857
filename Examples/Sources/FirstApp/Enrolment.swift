import Countersign

/// The screen for a new PIN. In this example a closure returns the PIN; in an app, a text field does.
struct NewPinScreen: PinEnroller {
    let ask: @Sendable (PinEnrollmentError?) async -> String?

    func enrollPin(context: PinEnrollmentContext, handler: PinEnrollmentHandler) async {
        guard let pin = await self.ask(context.lastRecoverableError) else { return handler.cancel() }
        handler.pin(pin)
    }
}

/// Takes the first authenticator of a kind that the server's policy allows.
struct Preferred: AuthenticatorSelector {
    let kind: AuthenticatorDescriptor.Kind

    func selectAuthenticator(context: AuthenticatorSelectionContext, handler: AuthenticatorSelectionHandler) {
        let allowed = context.authenticators.first {
            $0.kind == self.kind && context.isPolicyCompliant(authenticatorAaid: $0.aaid)
        }
        guard let allowed else { return handler.cancel() }
        handler.aaid(allowed.aaid)
    }
}

func enrol(_ registration: OutOfBandRegistration) async throws {
    let result =
        try await registration
        .deviceInformation(DeviceInformation(name: "Alice's phone"))
        .authenticatorSelector(Preferred(kind: .pin))
        .pinEnroller(NewPinScreen { _ in "258036" })
        .execute()
    if result.isDevelopmentStore {
        print("This device keeps its keys in a file. Use it for development only.")
    }
    if let confirmation = result.confirmation {
        print("Tell this number to whoever gave you the link: \(confirmation.number)")
    }
}

/// Registers with the answer that the service's back end got from the server.
func enrol(_ client: MobileAuthenticationClient, withAnswer answer: String) async throws {
    let result =
        try await client.operations.authCloudApiRegistration
        .enrollResponse(answer)
        .deviceInformation(DeviceInformation(name: "Alice's phone"))
        .authenticatorSelector(Preferred(kind: .pin))
        .pinEnroller(NewPinScreen { _ in "258036" })
        .execute()
    if let confirmation = result.confirmation {
        print("Tell this number to the service: \(confirmation.number)")
    }
}
