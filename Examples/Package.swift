// swift-tools-version: 6.2
import PackageDescription

/// The code that an app developer writes first. The listings of the SDK's documentation are taken from this package, so
/// they compile. The package resolves only the dependencies of an app.

let package = Package(
    name: "countersign-examples",
    platforms: [.macOS(.v15), .iOS(.v17)],
    products: [
        .executable(name: "health-app", targets: ["HealthApp"]),
        .executable(name: "town-hall-app", targets: ["TownHallApp"]),
        // This product is for the tests of `BackEnd`, a separate package.
        .library(name: "FirstApp", targets: ["FirstApp"]),
    ],
    dependencies: [.package(name: "countersign", path: "..")],
    targets: [
        .target(
            name: "FirstApp",
            dependencies: [
                .product(name: "Countersign", package: "countersign"),
                .product(name: "CountersignLinux", package: "countersign"),
            ]),
        // The keys of a device in a TPM 2.0. Only this target needs tpm2-tss.
        .target(
            name: "ChipApp",
            dependencies: [
                .product(name: "Countersign", package: "countersign"),
                .product(name: "CountersignLinux", package: "countersign"),
                .product(name: "CountersignTPM", package: "countersign"),
            ]),
        // A complete app in a terminal. The app signs a person in, keeps the person signed in behind a finger, and
        // shows pages of its site.
        .executableTarget(
            name: "HealthApp",
            dependencies: [
                .product(name: "Countersign", package: "countersign"),
                .product(name: "CountersignLinux", package: "countersign"),
            ]),
        .testTarget(
            name: "HealthAppTests",
            dependencies: [
                "HealthApp",
                .product(name: "Countersign", package: "countersign"),
                .product(name: "CountersignTestKit", package: "countersign"),
                .product(name: "UAFClient", package: "countersign"),
            ]),
        // A complete app in a terminal. The app takes over a person's identity, and signs the person in with the
        // identity, elsewhere and in the app itself.
        .executableTarget(
            name: "TownHallApp",
            dependencies: [
                .product(name: "Countersign", package: "countersign"),
                .product(name: "CountersignLinux", package: "countersign"),
            ]),
        .testTarget(
            name: "TownHallAppTests",
            dependencies: [
                "TownHallApp",
                .product(name: "Countersign", package: "countersign"),
                .product(name: "CountersignBackend", package: "countersign"),
                .product(name: "CountersignTestKit", package: "countersign"),
                .product(name: "_Primitives", package: "countersign"),
                .product(name: "PersonalInformation", package: "countersign"),
                .product(name: "Ceremony", package: "countersign"),
                .product(name: "UAFClient", package: "countersign"),
            ]),
        // The listings of the guide about testing an app.
        .testTarget(
            name: "TestAnAppTests",
            dependencies: [
                "FirstApp",
                .product(name: "Countersign", package: "countersign"),
                .product(name: "CountersignTestKit", package: "countersign"),
            ]),
        // This target runs the listings against a server in memory.
        .testTarget(
            name: "FirstAppTests",
            dependencies: [
                "FirstApp",
                .product(name: "Countersign", package: "countersign"),
                .product(name: "CountersignTestKit", package: "countersign"),
                .product(name: "_Primitives", package: "countersign"),
                .product(name: "PersonalInformation", package: "countersign"),
                .product(name: "UAF", package: "countersign"),
                .product(name: "Ceremony", package: "countersign"),
                .product(name: "UAFClient", package: "countersign"),
            ]),
    ],
    swiftLanguageModes: [.v6]
)

// The same sources again, built as for apps with the main actor as their default isolation.
for target in package.targets where target.type != .test {
    package.targets.append(
        .target(
            name: target.name + "OnMainActor", dependencies: target.dependencies, path: "MainActor/\(target.name)",
            swiftSettings: [.defaultIsolation(MainActor.self)]))
}

// An app imports one module of the SDK, and sees the members of its types.
for target in package.targets {
    target.swiftSettings = (target.swiftSettings ?? []) + [.enableUpcomingFeature("MemberImportVisibility")]
}
