// swift-tools-version: 6.2
import PackageDescription

/// What an app developer writes first. The listings of the SDK's documentation are taken from here, so they compile; and
/// the package resolves what an app would, and nothing else.

let package = Package(
    name: "countersign-examples",
    platforms: [.macOS(.v15), .iOS(.v17)],
    products: [
        .executable(name: "health-app", targets: ["HealthApp"]),
        .executable(name: "town-hall-app", targets: ["TownHallApp"]),
        // For the tests of `BackEnd`, a package of its own.
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
        // A whole app in a terminal: signs a person in, keeps them signed in behind a finger, shows pages of its site.
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
                .product(name: "CountersignProtocols", package: "countersign"),
            ]),
        // A whole app in a terminal: makes a person's identity its own, and signs them in with it, elsewhere and to itself.
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
                .product(name: "CountersignProtocols", package: "countersign"),
            ]),
        // What a guide says of testing an app.
        .testTarget(
            name: "TestAnAppTests",
            dependencies: [
                "FirstApp",
                .product(name: "Countersign", package: "countersign"),
                .product(name: "CountersignTestKit", package: "countersign"),
            ]),
        // Runs what the listings are, against a server in memory.
        .testTarget(
            name: "FirstAppTests",
            dependencies: [
                "FirstApp",
                .product(name: "Countersign", package: "countersign"),
                .product(name: "CountersignTestKit", package: "countersign"),
                .product(name: "CountersignProtocols", package: "countersign"),
            ]),
    ],
    swiftLanguageModes: [.v6]
)

// The same sources once more, as apps are built whose code is the main actor's unless it says otherwise.
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
